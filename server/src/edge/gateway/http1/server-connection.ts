import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionBudget } from '../../../net/client-budgets.ts'
import type { Member } from '../../../net/crowds.ts'
import { Timer } from '../../../net/timer-wheel.ts'
import { hasOption } from '../fields.ts'
import type { Fields } from '../gate.ts'
import { errorAnswer, type Fault, fault, invalid } from '../gateway-error.ts'
import type { Host } from '../host.ts'
import type { RequestHead } from '../request-head.ts'
import type { Asker, AskerListener, ClientFacts } from '../sides.ts'
import { BodyReader, type BodySink } from './body-reader.ts'
import { BARE_LF, HeadBuffer, TOO_LARGE } from './head-buffer.ts'
import { readRequest } from './read-request.ts'
import { fieldLines, Writer } from './writer.ts'

/** After the last answer is written, at most this much more is read, or for this long, before the end. */
const LINGER_BYTES = 1_048_576
const LINGER_MS = 2_000

/**
 * A client that has left is noticed only by reading from it. So a waiting one is read from once a second, and then no
 * more of it than this: what it may have sent before it left.
 */
const LOOK_MS = 1_000
const LOOK_BYTES = 262_144

/** Requests of one packet that begin in one turn of the event loop. The rest waits for the connection's turn. */
const REQUESTS_PER_TURN = 16

const CR = 0x0d
const LF = 0x0a

/** Reads requests of HTTP/1.1 one after the other, and writes their answers. */
export class ServerConnection implements Asker, BodySink, Member {
  readonly facts: ClientFacts
  readonly #socket: Socket
  readonly #host: Host
  readonly #budget: ConnectionBudget
  readonly #writer: Writer
  readonly #head: HeadBuffer
  readonly #body: BodyReader
  readonly #timer = new Timer(() => this.#due())
  #dueMs = 0
  #request: RequestHead | undefined
  #listener: AskerListener | undefined
  /** What came after the request that is being answered. */
  #rest: Buffer | undefined
  #isBodyEndNotified = false
  #isReading = false
  #isPaused = false
  #isLooking = false
  #lookedBytes = 0
  #waitsForDrain = false
  #waitsForTurn = false
  #begun = 0
  /** What the head of the request takes that is being answered. */
  #headBytes = 0
  #heldBytes = 0
  #keepsAlive = true
  #isChunked = false
  #hasBody = false
  #isTunnel = false
  #isClosing = false
  #isGone = false
  #hasAsked = false
  #lastCallMs = -1
  #lingered = 0

  constructor(socket: Socket, facts: ClientFacts, host: Host, budget: ConnectionBudget) {
    this.#socket = socket
    this.facts = facts
    this.#host = host
    this.#budget = budget
    this.#writer = new Writer(socket)
    this.#head = new HeadBuffer(host.bounds.maxHeaderBytes)
    this.#body = new BodyReader(this, host.bounds.maxHeaderBytes)
    socket.on('data', (data: Buffer) => {
      this.#begun = 0
      this.#read(data, 0)
    })
    socket.on('end', () => this.#ended())
    socket.on('error', () => {})
    socket.on('close', () => this.#gone())
    socket.on('drain', () => this.#drained())
    this.#arm(host.clock.nowMs() + host.bounds.headMs)
  }

  get use(): Member['use'] {
    if (this.#listener !== undefined) return 'busy'
    return this.#hasAsked ? 'idle' : 'none'
  }

  leave(): void {
    this.#socket.destroy()
  }

  /** Lets the request in flight end, and one more come if the connection waits for one, for `ms`. */
  retire(ms: number): void {
    this.#keepsAlive = false
    this.#lastCallMs = ms
    if (this.#listener !== undefined || this.#waitsForDrain || this.#isClosing) return
    this.#host.wheel.set(this.#timer, this.#host.clock.nowMs() + ms)
    this.#dueMs = 0
  }

  pause(): void {
    if (this.#listener !== undefined) this.#host.wheel.set(this.#timer, this.#host.clock.nowMs() + LOOK_MS)
    if (this.#isPaused) return
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#lookedBytes = 0
    this.#isLooking = false
    if (!this.#isPaused || this.#waitsForDrain || this.#waitsForTurn || this.#rest !== undefined) return
    this.#isPaused = false
    this.#socket.resume()
  }

  inform(status: number, fields: Fields): void {
    if (this.#request?.version !== '1.1') return
    this.#writer.text(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${fieldLines(fields)}\r\n`)
    this.#writer.flush()
  }

  answer(status: number, fields: Fields, length: number, hasBody: boolean): void {
    const isOld = this.#request?.version === '1.0'
    if (!this.#body.isDone) this.#keepsAlive = false
    this.#hasBody = hasBody
    this.#isChunked = hasBody && length < 0 && !isOld
    if (hasBody && length < 0 && isOld) this.#keepsAlive = false
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${fieldLines(fields)}`
    if (length >= 0) text += `content-length: ${length}\r\n`
    else if (this.#isChunked) text += 'transfer-encoding: chunked\r\n'
    this.#writer.text(this.#keepsAlive ? `${text}\r\n` : `${text}connection: close\r\n\r\n`)
  }

  accept(fields: Fields): void {
    this.#isTunnel = true
    this.#hasBody = true
    this.#isChunked = false
    const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n'
    this.#writer.text(`HTTP/1.1 101 Switching Protocols\r\n${fieldLines(fields)}${upgrade}\r\n`)
    this.#writer.flush()
    const rest = this.#rest
    this.#rest = undefined
    if (rest !== undefined) this.#listener?.bodyPiece(rest)
    this.#listener?.readDone()
    this.resume()
  }

  write(piece: Buffer): void {
    if (this.#isGone || !this.#hasBody) return
    if (this.#isChunked) this.#writer.chunk(piece)
    else this.#writer.piece(piece)
  }

  flush(): boolean {
    return this.#isGone || this.#writer.flush()
  }

  end(trailers: Fields | undefined): void {
    if (this.#isGone) return
    if (this.#isChunked) this.#writer.text(trailers === undefined ? '0\r\n\r\n' : `0\r\n${fieldLines(trailers)}\r\n`)
    this.#writer.flush()
    this.#finish()
  }

  abort(): void {
    this.#listener = undefined
    if (this.#socket.destroyed) return
    // HTTP/1.0 has no other way to show that an answer is incomplete.
    if ('resetAndDestroy' in this.#socket && !('encrypted' in this.#socket)) this.#socket.resetAndDestroy()
    else (this.#socket as Socket).destroy()
  }

  bodyPiece(piece: Buffer): void {
    this.#listener?.bodyPiece(piece)
  }

  /** Takes bytes from `from` on: heads, bodies, and what has to wait until an answer is written. */
  #read(data: Buffer, from: number): void {
    if (this.#isLooking) this.#lookedBytes += data.length
    this.#isLooking = false
    if (this.#isTunnel) {
      this.#listener?.bodyPiece(data)
      this.#listener?.readDone()
      return
    }
    if (this.#isClosing) {
      this.#linger(data.length)
      return
    }
    this.#isReading = true
    let at = from
    while (at < data.length && !this.#isClosing) {
      if (this.#listener === undefined && this.#mayBegin()) at = this.#readHead(data, at)
      else if (this.#listener !== undefined && !this.#body.isDone) at = this.#readBody(data, at)
      else {
        const rest = at === 0 ? data : data.subarray(at)
        this.#rest = this.#rest === undefined ? rest : Buffer.concat([this.#rest, rest])
        this.pause()
        break
      }
    }
    this.#isReading = false
    this.#listener?.readDone()
    this.#count()
  }

  /** Returns whether one more request may be read. Where it is only not its turn, it comes in a later one. */
  #mayBegin(): boolean {
    if (this.#waitsForDrain || this.#waitsForTurn) return false
    if (this.#begun < REQUESTS_PER_TURN) return true
    this.#waitsForTurn = true
    this.#budget.later(() => {
      this.#waitsForTurn = false
      const units = this.#begun
      this.#begun = 0
      if (this.#listener === undefined && !this.#isGone) this.#readRest()
      return units
    })
    return false
  }

  /** Counts what is held: a head, complete or not, and what waits behind it. */
  #count(): void {
    const bytes = this.#isGone ? 0 : this.#headBytes + this.#head.heldBytes + (this.#rest?.length ?? 0)
    if (bytes === this.#heldBytes) return
    const grownBytes = bytes - this.#heldBytes
    this.#heldBytes = bytes
    this.#budget.hold(grownBytes)
  }

  #readHead(data: Buffer, from: number): number {
    let start = from
    // One empty line before a request is ignored (RFC 9112, 2.2).
    if (this.#head.isEmpty && data[start] === CR && data[start + 1] === LF) start += 2
    const next = this.#head.take(data, start)
    if (next < 0) {
      if (next === TOO_LARGE) this.#refuse(fault('GATEWAY_HEADERS_TOO_LARGE', 'the head is too large'))
      else if (next === BARE_LF) this.#refuse(invalid('a line does not end with CR LF'))
      else this.#startHeadTime()
      return data.length
    }
    const head = readRequest(this.#head.text, this.#host.bounds.maxHeaders)
    if ('code' in head) {
      this.#refuse(head)
      return data.length
    }
    this.#begin(head)
    return next
  }

  #begin(head: RequestHead): void {
    this.#request = head
    this.#dueMs = Number.POSITIVE_INFINITY
    this.#isBodyEndNotified = false
    this.#hasAsked = true
    this.#begun++
    this.#headBytes = this.#head.text.length
    if (head.version === '1.0' || hasOption(head.fields.connection, 'close')) this.#keepsAlive = false
    this.#body.start(head.bodyLength)
    this.#listener = this.#host.begin(this, head)
    this.#listener.start()
  }

  #readBody(data: Buffer, from: number): number {
    const next = this.#body.read(data, from)
    if (this.#body.wrong !== undefined) {
      this.#keepsAlive = false
      this.#isClosing = true
      this.#listener?.bodyFault(this.#body.wrong)
    } else if (this.#body.isDone && !this.#isBodyEndNotified) {
      this.#isBodyEndNotified = true
      this.#listener?.bodyEnd(this.#body.trailers)
    }
    return next
  }

  /** Prepares for the next request, or ends the connection. */
  #finish(): void {
    this.#listener = undefined
    this.#request = undefined
    this.#headBytes = 0
    if (!this.#isReading) this.#count()
    if (this.#isTunnel || !this.#keepsAlive || !this.#body.isDone || this.#isClosing) {
      this.#close()
      return
    }
    if (!this.#writer.flush()) {
      // A client that sends requests and reads no answers has to read first.
      this.#waitsForDrain = true
      this.pause()
    }
    this.#arm(this.#host.clock.nowMs() + this.#host.bounds.keepAliveMs)
    if (!this.#isReading) this.#readRest()
  }

  #readRest(): void {
    if (this.#waitsForDrain || this.#waitsForTurn) return
    const rest = this.#rest
    this.#rest = undefined
    if (rest !== undefined) this.#read(rest, 0)
    if (this.#rest === undefined) this.resume()
  }

  #drained(): void {
    if (this.#waitsForDrain) {
      this.#waitsForDrain = false
      if (this.#listener === undefined && !this.#isReading) this.#readRest()
      if (this.#lastCallMs >= 0) this.retire(this.#lastCallMs)
    }
    this.#listener?.askerDrained()
  }

  /** Answers input that is not a request, and ends the connection: where the next request would begin is unknown. */
  #refuse(wrong: Fault): void {
    this.#host.refused(wrong)
    this.#keepsAlive = false
    const { status, headers, body } = errorAnswer(wrong)
    this.#request = undefined
    this.answer(status, headers, Buffer.byteLength(body), true)
    this.#writer.text(String(body))
    this.#writer.flush()
    this.#close()
  }

  /**
   * Ends our side, and reads on for a while: an unread byte would turn the end into a reset, and the answer be lost.
   */
  #close(): void {
    this.#isClosing = true
    this.#rest = undefined
    this.#isTunnel = false
    this.#waitsForDrain = false
    this.resume()
    this.#dueMs = 0
    this.#endWithin(Math.max(this.#host.bounds.keepAliveMs, LINGER_MS))
    this.#socket.end(() => {
      if (!this.#isGone) this.#endWithin(LINGER_MS)
    })
  }

  #endWithin(ms: number): void {
    this.#host.wheel.set(this.#timer, this.#host.clock.nowMs() + ms)
  }

  #linger(bytes: number): void {
    this.#lingered += bytes
    if (this.#lingered > LINGER_BYTES) this.#socket.destroy()
  }

  #ended(): void {
    if (this.#isTunnel && this.#listener !== undefined) {
      this.#listener.bodyEnd(undefined)
      return
    }
    this.#socket.end()
    if (this.#listener === undefined || this.#isClosing) this.#socket.destroySoon()
    else this.#gone()
  }

  #gone(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#count()
    this.#host.wheel.clear(this.#timer)
    const listener = this.#listener
    this.#listener = undefined
    listener?.left()
    this.#socket.destroy()
  }

  #startHeadTime(): void {
    if (!this.#hasAsked || this.#dueMs === 0) return
    const { clock, bounds, wheel } = this.#host
    const dueMs = clock.nowMs() + bounds.headMs
    if (this.#dueMs <= dueMs) return
    this.#dueMs = dueMs
    wheel.set(this.#timer, dueMs)
  }

  /** Sets the time at which an idle connection ends. The timer is moved only when it runs. */
  #arm(dueMs: number): void {
    this.#dueMs = dueMs
    if (this.#timer.tick < 0) this.#host.wheel.set(this.#timer, dueMs)
  }

  /** Reads once from a client that waits. What comes is held as if it had come before. */
  #look(): void {
    if (!this.#isPaused || this.#lookedBytes >= LOOK_BYTES || (this.#rest?.length ?? 0) >= LOOK_BYTES) return
    this.#isPaused = false
    this.#isLooking = true
    this.#socket.resume()
  }

  #due(): void {
    if (this.#listener !== undefined) {
      this.#look()
      return
    }
    if (!this.#isClosing && this.#dueMs > this.#host.clock.nowMs()) {
      if (this.#dueMs !== Number.POSITIVE_INFINITY) this.#host.wheel.set(this.#timer, this.#dueMs)
      return
    }
    if (this.#isClosing || this.#head.isEmpty) this.#socket.destroy()
    else this.#refuse(fault('GATEWAY_REQUEST_TIMEOUT', 'the head did not arrive in time'))
  }
}
