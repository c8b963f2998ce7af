import type { Socket } from 'node:net'
import { hasOption } from '../fields.ts'
import type { Fields } from '../gate.ts'
import type { GatewayBounds } from '../options.ts'
import type { Carrier, CarrierFailure, CarrierListener, OutgoingRequest } from '../sides.ts'
import { acceptsSocket } from '../web-socket.ts'
import { BodyReader, type BodySink } from './body-reader.ts'
import { HeadBuffer } from './head-buffer.ts'
import { CHUNKED, type ResponseHead, readResponse, UNTIL_CLOSE } from './read-response.ts'
import { fieldLines, Writer } from './writer.ts'

/** Hears when a connection is free for the next request, and when it is gone. */
export interface ConnectionOwner {
  released(connection: ClientConnection): void
  gone(connection: ClientConnection): void
}

/** Interim answers to one request. More would be a flood. */
const MAX_INTERIM = 32

/** Methods whose requests have a body even if it is empty. */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Carries requests of HTTP/1.1 to an upstream, one after the other. */
export class ClientConnection implements Carrier, BodySink {
  readonly #socket: Socket
  readonly #owner: ConnectionOwner
  readonly #bounds: GatewayBounds
  readonly #writer: Writer
  readonly #head: HeadBuffer
  readonly #body: BodyReader
  #listener: CarrierListener | undefined
  #request: OutgoingRequest | undefined
  #hasHead = false
  #isSent = true
  #isChunked = false
  /** Bytes of a body that may still be written. What is more, an upstream would read as its next request. */
  #unwritten = 0
  #isTunnel = false
  #keepsAlive = true
  #isGone = false
  #isPaused = false
  #interim = 0
  isReused = false
  /** Until when it may wait for the next request. */
  idleUntilMs = 0
  /** How long the upstream says that it keeps idle connections. */
  hintMs = Number.POSITIVE_INFINITY

  constructor(socket: Socket, owner: ConnectionOwner, bounds: GatewayBounds) {
    this.#socket = socket
    this.#owner = owner
    this.#bounds = bounds
    this.#writer = new Writer(socket)
    this.#head = new HeadBuffer(bounds.maxHeaderBytes)
    this.#body = new BodyReader(this, bounds.maxHeaderBytes)
    socket.on('data', (data: Buffer) => this.#read(data))
    socket.on('end', () => this.#ended())
    socket.on('error', () => this.#gone('the connection broke'))
    socket.on('close', () => this.#gone('the connection ended before the answer'))
    socket.on('drain', () => this.#listener?.carrierDrained())
  }

  get isUsable(): boolean {
    return !this.#isGone && !this.#socket.destroyed && this.#socket.writable
  }

  /** Gives the connection to a listener. Once it was idle, or carried a request, the upstream may be closing it. */
  take(listener: CarrierListener, isReused: boolean): void {
    this.#listener = listener
    this.isReused = isReused
  }

  send(request: OutgoingRequest): void {
    const { method, target, authority, fields, bodyLength, wantsWebSocket, takesTrailers } = request
    this.#request = request
    this.#hasHead = false
    this.#isSent = false
    this.#interim = 0
    this.#isChunked = bodyLength < 0
    this.#unwritten = this.#isChunked ? Number.POSITIVE_INFINITY : bodyLength
    let text = `${method} ${target} HTTP/1.1\r\nhost: ${authority}\r\n${fieldLines(fields)}`
    if (bodyLength > 0 || (bodyLength === 0 && WITH_BODY.has(method))) text += `content-length: ${bodyLength}\r\n`
    else if (this.#isChunked) text += 'transfer-encoding: chunked\r\n'
    if (wantsWebSocket) text += 'connection: upgrade\r\nupgrade: websocket\r\n'
    else if (takesTrailers) text += 'connection: te\r\nte: trailers\r\n'
    this.#writer.text(`${text}\r\n`)
  }

  write(piece: Buffer): void {
    if (piece.length > this.#unwritten) {
      this.#breach('the body is longer than its head says')
      return
    }
    this.#unwritten -= piece.length
    if (this.#isChunked) this.#writer.chunk(piece)
    else this.#writer.piece(piece)
  }

  flush(): boolean {
    return this.#isGone || this.#writer.flush()
  }

  end(trailers: Fields | undefined): void {
    this.#isSent = true
    if (this.#isTunnel) {
      this.#writer.flush()
      this.#socket.end()
      return
    }
    if (this.#isChunked) this.#writer.text(trailers === undefined ? '0\r\n\r\n' : `0\r\n${fieldLines(trailers)}\r\n`)
    else if (this.#unwritten > 0) this.#breach('the body is shorter than its head says')
    this.#unwritten = 0
    this.#writer.flush()
  }

  pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#socket.resume()
  }

  cancel(): void {
    this.#listener = undefined
    this.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
    this.#gone('the connection was given up')
  }

  bodyPiece(piece: Buffer): void {
    this.#listener?.answerPiece(piece)
  }

  #read(data: Buffer): void {
    if (this.#listener === undefined) {
      this.destroy()
      return
    }
    if (this.#isTunnel) {
      const tunnel = this.#listener
      tunnel.answerPiece(data)
      tunnel.answerReadDone()
      return
    }
    const listener = this.#listener
    let at = 0
    // Once the answer is complete, the connection may belong to another request.
    while (at < data.length && this.#listener === listener) {
      if (!this.#hasHead) at = this.#readHead(data, at)
      else if (this.#isTunnel) {
        this.#listener.answerPiece(data.subarray(at))
        at = data.length
      } else at = this.#readBody(data, at)
    }
    if (this.#listener === listener) listener.answerReadDone()
  }

  #readHead(data: Buffer, from: number): number {
    const next = this.#head.take(data, from)
    if (next === -1) return data.length
    if (next < 0) return this.#invalid('the head of the answer is too large, or its lines do not end with CR LF')
    const head = readResponse(this.#head.text, this.#bounds.maxAnswerHeaders)
    if (typeof head === 'string') return this.#invalid(head)
    if (head.status < 200) return this.#takeInterim(head) ? next : data.length
    this.#takeHead(head, next < data.length)
    return next
  }

  #takeInterim({ status, fields }: ResponseHead): boolean {
    if (status === 101) {
      const { wantsWebSocket, fields: asked } = this.#request as OutgoingRequest
      if (!wantsWebSocket) return this.#invalid('the upstream switched protocols unasked') < 0
      if (!acceptsSocket(asked, fields)) return this.#invalid('a 101 accepts another WebSocket, or none') < 0
      this.#hasHead = true
      this.#isTunnel = true
      this.#unwritten = Number.POSITIVE_INFINITY
      this.#isChunked = false
      this.#keepsAlive = false
      this.#listener?.switched(fields)
      return true
    }
    if (++this.#interim > MAX_INTERIM) return this.#invalid('there are too many interim answers') < 0
    this.#listener?.informed(status, fields)
    return true
  }

  #takeHead({ status, minor, fields, bodyLength }: ResponseHead, hasMore: boolean): void {
    const hasBody = this.#request?.method !== 'HEAD' && status !== 204 && status !== 304
    this.#hasHead = true
    this.#keepsAlive =
      minor === '1' ? !hasOption(fields.connection, 'close') : hasOption(fields.connection, 'keep-alive')
    if (fields.keepAlive !== undefined) this.#readHint(fields.keepAlive)
    if (hasBody && bodyLength === UNTIL_CLOSE) this.#keepsAlive = false
    this.#body.start(hasBody ? bodyLength : 0)
    const length = bodyLength === CHUNKED || bodyLength === UNTIL_CLOSE || status === 204 ? -1 : bodyLength
    this.#listener?.answered(status, fields, length, hasBody)
    if (this.#body.isDone) this.#finish(hasMore)
  }

  #readHint(text: string): void {
    const [, seconds] = /(?:^|[,\s])timeout=(\d{1,6})/i.exec(text) ?? []
    if (seconds !== undefined) this.hintMs = Number(seconds) * 1_000
  }

  #readBody(data: Buffer, from: number): number {
    const next = this.#body.read(data, from)
    if (this.#body.wrong !== undefined) return this.#invalid(this.#body.wrong)
    if (this.#body.isDone) this.#finish(next < data.length)
    return next
  }

  /** Frees the connection. What comes after an answer answers nothing: then it is not used again. */
  #finish(hasMore: boolean): void {
    const listener = this.#listener
    this.#listener = undefined
    if (listener === undefined) return
    const { trailers } = this.#body
    const isFree = this.#keepsAlive && this.#isSent && !hasMore
    this.#request = undefined
    this.resume()
    if (!isFree) this.destroy()
    listener.answerEnd(trailers)
    if (isFree) this.#owner.released(this)
  }

  #invalid(detail: string): number {
    this.#fail('invalid', detail)
    return Number.MAX_SAFE_INTEGER
  }

  /** Ends the connection, and reports that in a later turn: its caller is in the middle of other work. */
  #breach(detail: string): void {
    this.#socket.destroy()
    queueMicrotask(() => this.#fail('invalid', detail))
  }

  #ended(): void {
    if (this.#isTunnel && this.#listener !== undefined) {
      const listener = this.#listener
      this.#listener = undefined
      listener.answerEnd(undefined)
      this.#socket.end()
      return
    }
    // Only a body without a length and without chunks may end with its connection.
    if (this.#hasHead && !this.#body.isDone && this.#body.endsWithConnection) this.#finish(false)
    else this.#gone('the connection ended before the answer')
    this.#socket.destroy()
  }

  #fail(failure: CarrierFailure, detail: string): void {
    const listener = this.#listener
    this.#listener = undefined
    this.destroy()
    listener?.carrierFailed(failure, detail)
  }

  #gone(detail: string): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#owner.gone(this)
    if (this.#listener !== undefined) this.#fail('closed', detail)
  }
}
