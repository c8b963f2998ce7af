import { once } from 'node:events'
import net from 'node:net'
import {
  ACK,
  ANSWER,
  DATA,
  END_STREAM,
  FRAME_HEAD,
  frame,
  HEADERS,
  METHOD,
  newDecoder,
  OPENING,
  PING,
  REQUEST,
  RST_STREAM,
  requestsFor,
  SETTINGS,
  statusOf,
  WINDOW_UPDATE,
} from './wire.mjs'

/** Times of the calls in flight, by stream: as many as fit between the oldest and the newest of them. */
const RING = 1 << 14
/**
 * Servers refuse more than about this many concurrent calls. What is due meanwhile waits, and its time counts from
 * then.
 */
const MAX_IN_FLIGHT = 1_000

/**
 * Makes calls over one HTTP/2 connection. It writes bytes that were encoded once and compares what comes back with what
 * came before, so that it uses less of a core than any server that it measures. An answer counts if its status is 0;
 * anything else is a failure.
 */
export class Connection {
  answers = 0
  failures = 0
  inFlight = 0
  /** Called after each chunk that brought answers. */
  onAnswers = () => {}
  /** Called with the time that a call was due. */
  onTime = undefined
  #socket
  #isClosed = false
  #requests
  #vary
  #isRight
  #decoder = newDecoder()
  #nextStream = 1
  #due = new Float64Array(RING)
  #out = Buffer.allocUnsafe(1 << 16)
  #outLength = 0
  #rest = undefined
  #window = 65_535
  #lastBlock = undefined
  #lastStatus = undefined
  #lastVersion = -1
  #dataBytes = 0

  /**
   * A connection asks the same each time, unless `vary(bytes, at, call)` changes the message that begins there. Answers
   * are as long as ANSWER, unless `isRight(bytes, at)` looks at each.
   */
  constructor(socket, { path = METHOD, request = REQUEST, vary, isRight } = {}) {
    this.#socket = socket
    this.#requests = requestsFor(path, request)
    this.#vary = vary
    this.#isRight = isRight
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.failures += this.inFlight
      this.#isClosed = true
    })
    socket.write(OPENING)
  }

  static async open(port, traffic) {
    const socket = net.connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Connection(socket, traffic)
  }

  /** Whether, while no call is in flight, as many messages arrived as answers. */
  get isSound() {
    return this.#isRight !== undefined || this.#dataBytes === this.answers * (5 + ANSWER.length)
  }

  close() {
    this.#socket.destroy()
  }

  /** Sends one call with the next `flush`. It returns false when the server has no room for it. */
  call(dueAt) {
    const request = this.#nextStream === 1 ? this.#requests.first : this.#requests.later
    const { bytes, idOffsets, messageOffset, dataBytes } = request
    if (this.#isClosed) throw new Error('the server has ended a connection')
    if (this.#window < dataBytes || this.inFlight >= MAX_IN_FLIGHT) return false
    this.#window -= dataBytes
    if (this.#outLength + bytes.length > this.#out.length) this.flush()
    const at = this.#outLength
    const stream = this.#nextStream
    this.#out.set(bytes, at)
    for (const offset of idOffsets) this.#out.writeUInt32BE(stream, at + offset)
    this.#vary?.(this.#out, at + messageOffset, stream >>> 1)
    this.#outLength += bytes.length
    this.#due[(stream >>> 1) & (RING - 1)] = dueAt
    this.#nextStream += 2
    this.inFlight++
    return true
  }

  /** Hands what was collected to the socket, in one write. */
  flush() {
    if (this.#outLength === 0) return
    this.#socket.write(Buffer.from(this.#out.subarray(0, this.#outLength)))
    this.#outLength = 0
  }

  #read(chunk) {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    const before = this.answers
    let at = 0
    while (bytes.length - at >= FRAME_HEAD) {
      const length = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2]
      const end = at + FRAME_HEAD + length
      if (end > bytes.length) break
      this.#frame(bytes, at, end)
      at = end
    }
    this.#rest = at === bytes.length ? undefined : bytes.subarray(at)
    if (this.answers !== before) this.onAnswers()
  }

  #frame(bytes, at, end) {
    const type = bytes[at + 3]
    const flags = bytes[at + 4]
    const start = at + FRAME_HEAD
    if (type === DATA) {
      this.#dataBytes += end - start
      if (this.#isRight?.(bytes, start) === false) this.failures++
    } else if (type === HEADERS) {
      const status = this.#statusOf(bytes.subarray(start, end))
      if ((flags & END_STREAM) !== 0) this.#ended(bytes.readUInt32BE(at + 5), status)
    } else if (type === WINDOW_UPDATE) {
      if (bytes.readUInt32BE(at + 5) === 0) this.#window += bytes.readUInt32BE(start)
    } else if (type === SETTINGS && (flags & ACK) === 0) {
      this.#socket.write(frame(SETTINGS, ACK, 0))
    } else if (type === PING && (flags & ACK) === 0) {
      this.#socket.write(frame(PING, ACK, 0, Buffer.from(bytes.subarray(start, end))))
    } else if (type === RST_STREAM) {
      this.failures++
      this.inFlight--
    }
  }

  #statusOf(block) {
    const version = this.#decoder.tableVersion
    if (version === this.#lastVersion && this.#lastBlock.equals(block)) return this.#lastStatus
    const status = statusOf(this.#decoder, block)
    if (status !== undefined && this.#decoder.tableVersion === version) {
      this.#lastBlock = Buffer.from(block)
      this.#lastStatus = status
      this.#lastVersion = version
    }
    return status
  }

  #ended(stream, status) {
    this.inFlight--
    if (status === '0') this.answers++
    else this.failures++
    this.onTime?.(this.#due[(stream >>> 1) & (RING - 1)])
  }
}
