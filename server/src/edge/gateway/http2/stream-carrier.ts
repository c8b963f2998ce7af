import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import type { FieldSet } from '../fields.ts'
import type { Fields } from '../gate.ts'
import { readLength } from '../request-head.ts'
import type { Carrier, CarrierListener, OutgoingRequest } from '../sides.ts'
import { fieldMap, pseudo, readFields, readTrailers } from './field-map.ts'
import { resetStream } from './stream-end.ts'

const END_STREAM = 1
const NO_ERROR = 0
const REFUSED_STREAM = 7
const CANCEL = 8

/** Takes one request to an upstream on a stream of HTTP/2. */
export class StreamCarrier implements Carrier {
  readonly isReused: boolean
  readonly #session: ClientHttp2Session
  readonly #done: () => void
  #listener: CarrierListener | undefined
  #stream: ClientHttp2Stream | undefined
  #hasHead = false
  /** Bytes of the body that may still be written. */
  #unwritten = 0
  #sentTrailers: Fields | undefined
  #trailers: FieldSet | undefined

  constructor(session: ClientHttp2Session, isReused: boolean, listener: CarrierListener, done: () => void) {
    this.#session = session
    this.isReused = isReused
    this.#listener = listener
    this.#done = done
  }

  send(request: OutgoingRequest): void {
    const { method, target, authority, scheme, fields, bodyLength, takesTrailers } = request
    const headers = fieldMap(fields)
    this.#unwritten = bodyLength < 0 ? Number.POSITIVE_INFINITY : bodyLength
    const line = { ':method': method, ':path': target, ':scheme': scheme, ':authority': authority }
    const length = bodyLength > 0 ? { 'content-length': String(bodyLength) } : {}
    const te = takesTrailers ? { te: 'trailers' } : {}
    let stream: ClientHttp2Stream
    try {
      const options = { endStream: bodyLength === 0, waitForTrailers: bodyLength < 0 }
      stream = this.#session.request({ ...line, ...headers, ...length, ...te }, options)
    } catch {
      queueMicrotask(() => this.#fail('unsent', 'the connection was closing'))
      this.#done()
      return
    }
    this.#stream = stream
    stream.on('error', () => {})
    stream.on('wantTrailers', () => {
      try {
        stream.sendTrailers(fieldMap(this.#sentTrailers ?? []))
      } catch {
        resetStream(stream, CANCEL)
      }
    })
    stream.on('headers', (_headers, _flags, raw?: string[]) => this.#takeInterim(raw ?? []))
    stream.on('response', (_headers, flags, raw?: string[]) => this.#takeHead(method, flags, raw ?? []))
    stream.on('trailers', (_headers, _flags, raw?: string[]) => this.#takeTrailers(raw ?? []))
    stream.on('data', (piece: Buffer) => {
      this.#listener?.answerPiece(piece)
      this.#listener?.answerReadDone()
    })
    stream.on('end', () => this.#ended())
    stream.on('drain', () => this.#listener?.carrierDrained())
    stream.on('close', () => this.#closed())
  }

  write(piece: Buffer): void {
    if (this.#stream?.writable !== true) return
    if (piece.length > this.#unwritten) {
      resetStream(this.#stream, CANCEL)
      return
    }
    this.#unwritten -= piece.length
    this.#stream.write(piece)
  }

  flush(): boolean {
    return this.#stream === undefined || this.#stream.destroyed || !this.#stream.writableNeedDrain
  }

  end(trailers: Fields | undefined): void {
    this.#sentTrailers = trailers
    if (this.#stream === undefined) return
    if (this.#unwritten > 0 && this.#unwritten < Number.POSITIVE_INFINITY) resetStream(this.#stream, CANCEL)
    else this.#stream.end()
  }

  pause(): void {
    this.#stream?.pause()
  }

  resume(): void {
    this.#stream?.resume()
  }

  cancel(): void {
    this.#listener = undefined
    if (this.#stream !== undefined) resetStream(this.#stream, CANCEL)
  }

  #takeInterim(raw: readonly string[]): void {
    const fields = readFields(raw)
    if (typeof fields !== 'string') this.#listener?.informed(Number(pseudo(raw, ':status')), fields)
  }

  #takeHead(method: string, flags: number, raw: readonly string[]): void {
    const status = Number(pseudo(raw, ':status'))
    const fields = readFields(raw)
    if (typeof fields === 'string') {
      this.#fail('invalid', fields)
      return
    }
    const hasEnded = (flags & END_STREAM) !== 0
    const isBare = method === 'HEAD' || status === 204 || status === 304
    const declared = fields.lengths === 1 ? readLength(fields.length) : -1
    this.#hasHead = true
    this.#listener?.answered(status, fields, hasEnded && !isBare ? 0 : declared, !isBare && !hasEnded)
    this.#listener?.answerReadDone()
  }

  #takeTrailers(raw: readonly string[]): void {
    const fields = readTrailers(raw)
    if (typeof fields === 'string') this.#fail('invalid', fields)
    else this.#trailers = fields
  }

  #ended(): void {
    const stream = this.#stream as ClientHttp2Stream
    // A stream that is reset ends too; its close has the reason. Trailers are emitted in a later turn than the end.
    if (!this.#hasHead || stream.aborted || stream.rstCode !== NO_ERROR) return
    process.nextTick(() => {
      const listener = this.#listener
      this.#listener = undefined
      listener?.answerEnd(this.#trailers)
      // An answer before the end of the request: the rest of it is of no use.
      if (!stream.writableFinished) resetStream(stream, NO_ERROR)
    })
  }

  #closed(): void {
    this.#done()
    const code = this.#stream?.rstCode
    const isUnsent = code === REFUSED_STREAM && !this.#hasHead
    this.#fail(isUnsent ? 'unsent' : 'closed', `the upstream reset the stream (${code})`)
  }

  #fail(failure: 'unsent' | 'closed' | 'invalid', detail: string): void {
    const listener = this.#listener
    this.cancel()
    listener?.carrierFailed(failure, detail)
  }
}
