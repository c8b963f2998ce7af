import type { Socket } from 'node:net'
import type { Crowds, Member } from '../net/crowds.ts'
import { addressOf } from './peer.ts'

/** A socket in a TLS handshake, which has its time limit. */
export class Newcomer implements Member {
  readonly use = 'busy'
  readonly #socket: Socket
  readonly #forget: () => void

  constructor(socket: Socket, all: Map<string, Newcomer>, crowds: Crowds) {
    const ends = endsOf(socket)
    const leaveCrowd = crowds.add(addressOf(socket), this)
    all.set(ends, this)
    this.#socket = socket
    this.#forget = () => {
      leaveCrowd()
      if (all.get(ends) === this) all.delete(ends)
    }
  }

  leave(): void {
    this.#socket.destroy()
  }

  /** Records that the handshake has ended, successfully or not. */
  settle(): void {
    this.#forget()
  }
}

/** Names a connection by its two ends. */
export const endsOf = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): string =>
  `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`
