import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { OutputBuffer } from './output-buffer.ts'
import type { Counters } from './stats.ts'

/**
 * Brings an OutputBuffer to a socket, one write at a time. While the socket is busy, output collects in the buffer, so
 * that the next write takes all of it.
 */
export class SocketOutlet {
  readonly #socket: Duplex
  readonly #out: OutputBuffer
  readonly #counters: Counters
  readonly #onDrain: () => void
  /** A socket of Node.js has copied what it reports as written; another stream may hand our buffer on. */
  readonly #reuses: boolean
  #inFlight: Buffer | undefined
  #inFlightBytes = 0
  #writes = 0
  #written = 0

  constructor(socket: Duplex, out: OutputBuffer, counters: Counters, onDrain: () => void) {
    this.#socket = socket
    this.#out = out
    this.#counters = counters
    this.#onDrain = onDrain
    this.#reuses = socket instanceof Socket
  }

  /** The bytes that the socket has not accepted. */
  get unsentBytes(): number {
    return this.#inFlightBytes + this.#out.length
  }

  /** Says that the socket has not taken what it was given last. */
  get isBusy(): boolean {
    return this.#inFlight !== undefined
  }

  /** Counts the writes that the socket has taken: while it stands still, there is no progress. */
  get written(): number {
    return this.#written
  }

  flush(): void {
    const { length } = this.#out
    if (length === 0 || this.#inFlight !== undefined || this.#isEnded()) return
    const buffer = this.#out.take()
    this.#inFlight = buffer
    this.#inFlightBytes = length
    this.#writes++
    this.#counters.writes++
    this.#counters.bytesWritten += length
    this.#socket.write(
      this.#reuses ? buffer.subarray(0, length) : Buffer.from(buffer.subarray(0, length)),
      this.#onWritten,
    )
    // Most writes complete immediately, and their buffer serves the next turn.
    if (this.#socket.writableLength === 0) this.#release()
  }

  /** Writes the rest behind what is in flight, and closes our side. */
  end(): void {
    const { length } = this.#out
    if (this.#isEnded()) return
    if (length === 0) this.#socket.end()
    else {
      this.#counters.writes++
      this.#counters.bytesWritten += length
      this.#socket.end(this.#out.take().subarray(0, length))
    }
  }

  #isEnded(): boolean {
    return this.#socket.destroyed || this.#socket.writableEnded
  }

  readonly #onWritten = (): void => {
    this.#written++
    // Earlier writes report late; only the last one is in flight.
    if (this.#inFlight === undefined || this.#written < this.#writes) return
    this.#release()
    this.#onDrain()
  }

  #release(): void {
    this.#out.giveBack(this.#inFlight!)
    this.#inFlight = undefined
    this.#inFlightBytes = 0
  }
}
