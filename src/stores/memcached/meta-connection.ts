import { connect, type Socket } from 'node:net'
import { StoreFault } from '../../engine/store-fault.ts'

/** A reply: its code and flags, and the value where it has one. */
export interface MetaReply {
  /** `VA`, `HD`, `EN`, `NS`, `EX`, `NF`, or an error. */
  readonly code: string
  readonly flags: readonly string[]
  readonly value: Buffer | undefined
}

interface Asker {
  /** Lists end with a line END: of them only the lines are of interest. */
  readonly isList: boolean
  readonly lines: string[]
  readonly resolve: (reply: MetaReply) => void
  readonly reject: (fault: StoreFault) => void
}

const CR = 13
const LF = 10
/** No line of the meta protocol is longer. */
const MAX_LINE = 8_192
const CONNECT_MS = 1_000
/** A silence as long as that, with questions open: the connection is given up, and another one made. */
const SILENT_MS = 2_000

/**
 * A connection to one Memcached, in its meta protocol. Commands are sent immediately and answered in order. It connects
 * when it is asked; when it breaks, everything without an answer fails, and nothing is sent twice.
 */
export class MetaConnection {
  readonly #name: string
  readonly #address: { readonly host: string; readonly port: number }
  #socket: Socket | undefined
  #opening: Promise<Socket> | undefined
  #askers: Asker[] = []
  #chunks: Buffer = EMPTY

  constructor(name: string, address: { readonly host: string; readonly port: number }) {
    this.#name = name
    this.#address = address
  }

  /** Sends a command, and returns its reply. `isList`: the lines before END are the flags of the reply. */
  async ask(command: string | Buffer, isList = false): Promise<MetaReply> {
    const socket = this.#socket ?? (await this.#open())
    return new Promise((resolve, reject) => {
      this.#askers.push({ isList, lines: [], resolve, reject })
      socket.write(command)
    })
  }

  close(): void {
    this.#socket?.destroy()
  }

  #open(): Promise<Socket> {
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  #connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ ...this.#address, noDelay: true })
      const offline = (reason: string): void => {
        socket.destroy()
        reject(new StoreFault('offline', this.#name, reason))
      }
      const timer = setTimeout(() => offline(`no connection within ${CONNECT_MS} ms`), CONNECT_MS)
      socket.once('error', ({ message }) => offline(message))
      socket.once('connect', () => {
        clearTimeout(timer)
        this.#socket = socket
        this.#chunks = EMPTY
        socket.unref()
        socket.setTimeout(SILENT_MS, () => this.#askers.length > 0 && socket.destroy(new Error('silent')))
        socket.on('data', (chunk) => this.#receive(socket, chunk))
        socket.on('error', () => {})
        socket.once('close', () => this.#broke(socket, 'the connection broke'))
        resolve(socket)
      })
    })
  }

  #broke(socket: Socket, reason: string): void {
    if (this.#socket !== socket) return
    this.#socket = undefined
    const askers = this.#askers
    this.#askers = []
    for (const { reject } of askers) reject(new StoreFault('broken', this.#name, reason))
  }

  #receive(socket: Socket, chunk: Buffer): void {
    this.#chunks = this.#chunks.length === 0 ? chunk : Buffer.concat([this.#chunks, chunk])
    let from = 0
    for (let next = this.#readAt(from); next > from; next = this.#readAt(from)) from = next
    this.#chunks = this.#chunks.subarray(from)
    if (this.#chunks.length > MAX_LINE && !this.#chunks.subarray(0, MAX_LINE).includes(LF)) {
      socket.destroy()
    }
  }

  /** Reads the reply that begins at a place, and returns where it ends: there, if it is not complete. */
  #readAt(from: number): number {
    const end = this.#chunks.indexOf(LF, from)
    if (end < 0) return from
    const line = this.#chunks.toString('latin1', from, this.#chunks[end - 1] === CR ? end - 1 : end)
    const [code, ...flags] = line.split(' ')
    const [asker] = this.#askers
    if (asker === undefined) return end + 1
    if (asker.isList && code !== 'END' && code !== 'ERROR') {
      asker.lines.push(line)
      return end + 1
    }
    const size = code === 'VA' ? Number(flags[0]) : -2
    const after = end + 1 + size + 2
    if (after > this.#chunks.length) return from
    this.#askers.shift()
    const value = code === 'VA' ? Buffer.from(this.#chunks.subarray(end + 1, end + 1 + size)) : undefined
    asker.resolve({ code, flags: asker.isList ? asker.lines : flags, value })
    return after
  }
}

const EMPTY: Buffer = Buffer.alloc(0)
