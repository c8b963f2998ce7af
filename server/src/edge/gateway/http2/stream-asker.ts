import type { ServerHttp2Stream } from 'node:http2'
import type { Fields } from '../gate.ts'
import type { Host } from '../host.ts'
import type { RequestHead } from '../request-head.ts'
import type { Asker, AskerListener, ClientFacts } from '../sides.ts'
import { fieldMap, readTrailers } from './field-map.ts'
import { boundEnd, lingerOn, resetStream } from './stream-end.ts'

const NO_ERROR = 0
const INTERNAL_ERROR = 2

/** A client that asks on a stream of HTTP/2. */
export class StreamAsker implements Asker {
  readonly facts: ClientFacts
  readonly #stream: ServerHttp2Stream
  readonly #host: Host
  #listener: AskerListener | undefined
  #trailersSent: Fields | undefined
  #isBodyDone = false
  #hasBody = false
  /** What comes waits, within the window of the stream, until a WebSocket is accepted. */
  #isHeld = false

  constructor(stream: ServerHttp2Stream, facts: ClientFacts, host: Host) {
    this.#stream = stream
    this.facts = facts
    this.#host = host
  }

  /** Has a listener hear what the client does. */
  attach(listener: AskerListener, { wantsWebSocket }: RequestHead, hasEnded: boolean): void {
    const stream = this.#stream
    const hasBody = !hasEnded || wantsWebSocket
    let trailers: ReturnType<typeof readTrailers> | undefined
    this.#listener = listener
    this.#isBodyDone = !hasBody
    stream.on('close', () => this.lose())
    // A reset with NO_ERROR closes a stream only when all of it is read, which is never while it is paused.
    stream.on('aborted', () => {
      this.lose()
      process.nextTick(() => stream.destroy())
    })
    stream.on('drain', () => this.#listener?.askerDrained())
    if (!hasBody) {
      stream.resume()
      return
    }
    stream.on('data', (piece: Buffer) => {
      this.#listener?.bodyPiece(piece)
      this.#listener?.readDone()
    })
    stream.on('trailers', (_headers, _flags, raw?: string[]) => {
      trailers = readTrailers(raw ?? [])
    })
    stream.on('end', () => {
      // A stream that is reset ends too.
      if (stream.aborted || stream.rstCode !== NO_ERROR) return
      this.#isBodyDone = true
      if (typeof trailers === 'string') this.#listener?.bodyFault(trailers)
      else this.#listener?.bodyEnd(trailers)
      this.#listener?.readDone()
    })
    if (!wantsWebSocket) return
    this.#isHeld = true
    stream.pause()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    if (!this.#isHeld) this.#stream.resume()
  }

  inform(status: number, fields: Fields): void {
    if (this.#canSend) this.#try(() => this.#stream.additionalHeaders({ ...fieldMap(fields), ':status': status }))
  }

  answer(status: number, fields: Fields, length: number, hasBody: boolean): void {
    if (!this.#canSend) return
    this.#hasBody = hasBody
    const headers = { ...fieldMap(fields), ':status': status }
    if (length > 0 || (length === 0 && hasBody)) Object.assign(headers, { 'content-length': String(length) })
    // A body of a known length has no trailers to wait for.
    const waitForTrailers = hasBody && length < 0
    if (waitForTrailers)
      this.#stream.on('wantTrailers', () => {
        this.#try(() => this.#stream.sendTrailers(fieldMap(this.#trailersSent ?? [])))
      })
    this.#try(() => this.#stream.respond(headers, { endStream: !hasBody, waitForTrailers }))
  }

  accept(fields: Fields): void {
    if (!this.#canSend) return
    this.#hasBody = true
    const kept = fields.filter((_, i) => fields[i - (i % 2)]?.toLowerCase() !== 'sec-websocket-accept')
    this.#try(() => this.#stream.respond({ ...fieldMap(kept), ':status': 200 }))
    this.#isHeld = false
    this.#stream.resume()
  }

  write(piece: Buffer): void {
    if (this.#hasBody && this.#stream.writable) this.#stream.write(piece)
  }

  flush(): boolean {
    return !this.#stream.writableNeedDrain || this.#stream.destroyed
  }

  end(trailers: Fields | undefined): void {
    const stream = this.#stream
    this.#listener = undefined
    this.#trailersSent = trailers
    if (stream.destroyed) return
    if (!this.#isBodyDone) lingerOn(stream)
    boundEnd(stream, this.#host)
    stream.end()
  }

  abort(): void {
    this.#listener = undefined
    resetStream(this.#stream, INTERNAL_ERROR)
  }

  get #canSend(): boolean {
    return !this.#stream.destroyed && !this.#stream.closed && !this.#stream.headersSent
  }

  /** Sends fields. node:http2 throws for fields that it rejects: then the stream is reset, and nothing more. */
  #try(send: () => void): void {
    if (this.#stream.destroyed) return
    try {
      send()
    } catch {
      this.#hasBody = false
      resetStream(this.#stream, INTERNAL_ERROR)
    }
  }

  /** Says that the client is gone. */
  lose(): void {
    const listener = this.#listener
    this.#listener = undefined
    listener?.left()
  }
}
