import { Duplex } from 'node:stream'
import { FrameText, preface, settings, settingsAck } from './frame-script.suite.ts'
import { HpackDecoder } from './hpack/hpack-decoder.ts'
import type { GrpcServer } from './server.ts'

/** The server's end of a connection in memory. */
class Wire extends Duplex {
  readonly #onBytes: (bytes: Buffer) => void
  #held: (() => void) | undefined
  #isRead = true

  constructor(onBytes: (bytes: Buffer) => void) {
    super()
    this.#onBytes = onBytes
  }

  /** Returns whether the client reads what the server sends. */
  set reads(isRead: boolean) {
    this.#isRead = isRead
    if (isRead) this.#held?.()
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const take = (): void => {
      this.#held = undefined
      this.#onBytes(chunk)
      done()
    }
    if (this.#isRead) take()
    else this.#held = take
  }
}

/** Lets everything happen that is ready to. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Sends frames to a server over a connection in memory, and tells what comes back. */
export class ScriptedClient {
  readonly #text = new FrameText(new HpackDecoder(4096, { maxListBytes: 1_000_000, maxFields: 1_000 }))
  readonly wire = new Wire((bytes) => {
    this.writes++
    this.#text.push(bytes)
  })
  /** Writes of the server that arrived. */
  writes = 0
  closed = false
  ended = false

  constructor(server: GrpcServer) {
    this.wire.on('close', () => {
      this.closed = true
    })
    this.wire.on('finish', () => {
      this.ended = true
    })
    server.addConnection(this.wire)
  }

  /** Returns a client that has exchanged settings with the server. */
  static async connect(server: GrpcServer, ...pairs: (readonly [number, number])[]): Promise<ScriptedClient> {
    const client = new ScriptedClient(server)
    await client.send(preface, settings(...pairs), settingsAck)
    return client
  }

  /** Writes all at once, so that the server reads it as one chunk. It returns the frames that come back. */
  async send(...frames: Uint8Array[]): Promise<string[]> {
    this.wire.push(Buffer.concat(frames))
    return this.received()
  }

  /** Returns the frames that came since it was last asked. */
  async received(): Promise<string[]> {
    await settle()
    const { lines } = this.#text
    this.#text.lines = []
    return lines
  }

  /** Closes the client's end. */
  async leave(): Promise<void> {
    this.wire.push(null)
    await settle()
  }
}
