import type { FieldSet } from '../fields.ts'
import type { Admission } from '../gate.ts'
import { errorAnswer, type Fault, fault, invalid, SHED_BY_UPSTREAM } from '../gateway-error.ts'
import type { RequestInFlight } from '../gateway-options.ts'
import { answerFields, requestTrailers, trailerFields } from '../outgoing-fields.ts'
import { hostOf, type RequestHead } from '../request-head.ts'
import type { Found, Table } from '../routes/table.ts'
import type { Asker, AskerListener, Carrier, CarrierFailure, CarrierListener, OutgoingRequest } from '../sides.ts'
import { Attempts } from './attempts.ts'
import { EndingRequest } from './ending-request.ts'
import type { ExchangeHost, Waiting } from './exchange-host.ts'
import { HeldBody } from './held-body.ts'
import { outgoingRequest } from './outgoing-request.ts'
import { LAST_HOP } from './own-answer.ts'
import { Phase, phaseName } from './phase.ts'
import type { Listed } from './under-way.ts'

/**
 * One request and its answer: it hears the client and the upstream, and leads what the one sends to the other. Whatever
 * happens, it ends once.
 */
export class Exchange extends EndingRequest implements AskerListener, CarrierListener, Listed, Waiting {
  /** Among those in flight. */
  position = -1
  readonly #table: Table
  #outgoing: OutgoingRequest | undefined
  /** What came of the body before there was a carrier for it. */
  readonly #held = new HeldBody()
  #bodyBytes = 0
  #isBodyEnded: boolean
  #trailers: FieldSet | undefined
  #answerHead: FieldSet | undefined
  /** The body did not come with the head: it is waited for until it was inspected. */
  #isWaiting = false
  #isInspected = false
  #leaveWaiting: (() => void) | undefined

  constructor(host: ExchangeHost, asker: Asker, head: RequestHead) {
    super(host, asker, head)
    this.#table = host.table
    this.#isBodyEnded = head.bodyLength === 0
  }

  start(): void {
    const { method, target, authority, bodyLength } = this.head
    if (!this.gateway.hasRoom) {
      this.refuse('GATEWAY_OVERLOADED', 'too many requests are in flight')
      return
    }
    const found = this.#table.find(hostOf(authority), target, method)
    if ('code' in found) {
      this.answerOwn(errorAnswer(found, found.allow === undefined ? [] : ['allow', found.allow]))
      return
    }
    this.found = found
    const { times, maxBodyBytes, peekBytes } = found.settings
    if (bodyLength > maxBodyBytes) {
      this.refuse(
        'GATEWAY_BODY_TOO_LARGE',
        `Content-Length is ${bodyLength}; this route accepts at most ${maxBodyBytes} bytes`,
      )
      return
    }
    if (method === 'OPTIONS' && this.header('max-forwards') === '0') {
      this.answerOwn(LAST_HOP)
      return
    }
    this.attempts = new Attempts(this.#table, found, this.head, this)
    this.timer.start(times.totalMs)
    if (this.isTurnedAway()) return
    if (peekBytes > 0 && !this.#isBodyEnded) {
      this.#awaitBody()
      return
    }
    this.askGate()
  }

  // What the client does.

  bodyPiece(piece: Buffer): void {
    if (this.phase === Phase.done) return
    this.#bodyBytes += piece.length
    if (this.phase !== Phase.tunnel && !this.#fits()) return
    if (this.carrier !== undefined) this.carrier.write(piece)
    else this.#held.add(piece)
  }

  bodyEnd(trailers: FieldSet | undefined): void {
    if (this.phase === Phase.done) return
    if (this.phase !== Phase.tunnel && this.#bodyBytes < this.head.bodyLength) {
      this.bodyFault('the body is shorter than its head says')
      return
    }
    this.#isBodyEnded = true
    this.#trailers = trailers
    if (this.carrier === undefined) return
    this.carrier.end(requestTrailers(trailers, this.head.fields))
    if (this.phase === Phase.send) this.#wait()
  }

  readDone(): void {
    if (this.phase === Phase.done) return
    if (this.phase === Phase.peek) {
      this.#inspect()
      return
    }
    // A client that waits is read from now and then: that is no progress.
    if (!this.isAskerPaused) this.timer.active()
    const isTaken = this.carrier?.flush() ?? false
    if (!isTaken && !this.#isBodyEnded) this.#pauseAsker()
  }

  bodyFault(detail: string): void {
    if (this.phase === Phase.done) return
    this.fail(invalid(detail), 'abort')
  }

  askerDrained(): void {
    if (this.phase === Phase.done) return
    this.timer.active()
    if (!this.isCarrierPaused) return
    this.isCarrierPaused = false
    this.carrier?.resume()
  }

  left(): void {
    if (this.phase === Phase.done) return
    const isThinking = this.phase === Phase.gate
    this.finish('abort')
    if (isThinking) this.notifyLeft()
  }

  // What the upstream does.

  connected(carrier: Carrier): void {
    this.carrier = carrier
    carrier.send(this.#request())
    this.phase = Phase.send
    if (this.head.expectsContinue && this.#bodyBytes === 0) this.asker.inform(100, [])
    const held = this.#held.take()
    if (held !== undefined) carrier.write(held)
    if (this.#isBodyEnded && !this.head.wantsWebSocket) {
      carrier.end(requestTrailers(this.#trailers, this.head.fields))
      this.#wait()
      return
    }
    if (this.head.wantsWebSocket) this.#wait()
    else this.timer.begin(this.times.bodyIdleMs)
    if (carrier.flush()) this.#resumeAsker()
  }

  unreachable(reason: 'failed' | 'busy' | 'shed', detail: string): void {
    if (reason !== 'failed') {
      this.tries.leave()
      this.fail(fault('GATEWAY_OVERLOADED', detail, reason === 'shed' ? SHED_BY_UPSTREAM : undefined), 'unserved')
      return
    }
    this.notConnected(fault('GATEWAY_UPSTREAM_FAILED', `no connection to the upstream (${detail})`))
  }

  informed(status: number, fields: FieldSet): void {
    // The client's wait for a 100 was ended here, and nothing else requested one.
    if (this.phase === Phase.done || status === 100) return
    this.asker.inform(status, answerFields(fields, undefined, this.id))
  }

  answered(status: number, fields: FieldSet, length: number, hasBody: boolean): void {
    if (this.phase === Phase.done) return
    this.tries.succeeded()
    const { wantsWebSocket, version } = this.head
    if (wantsWebSocket && version === '2.0' && status < 300) {
      // Over HTTP/2 it would say that the WebSocket is open (RFC 8441, 4).
      this.refuse('GATEWAY_UPSTREAM_INVALID', `the upstream answered a WebSocket upgrade with ${status}`)
      return
    }
    this.phase = Phase.answer
    this.#answerHead = fields
    this.notifyResponded(status, fields.list)
    this.asker.answer(status, answerFields(fields, this.pass?.headers, this.id), length, hasBody)
    this.timer.begin(this.times.idleMs)
  }

  switched(fields: FieldSet): void {
    if (this.phase === Phase.done) return
    this.tries.succeeded()
    this.phase = Phase.tunnel
    this.#isBodyEnded = false
    this.#answerHead = fields
    this.notifyResponded(101, fields.list)
    this.timer.begin(this.times.idleMs)
    this.asker.accept(answerFields(fields, this.pass?.headers, this.id))
    this.#resumeAsker()
  }

  answerPiece(piece: Buffer): void {
    if (this.phase === Phase.done) return
    this.notifyHeard(piece)
    this.asker.write(piece)
  }

  answerReadDone(): void {
    if (this.phase === Phase.done) return
    this.timer.active()
    if (this.asker.flush()) return
    this.isCarrierPaused = true
    this.carrier?.pause()
  }

  answerEnd(trailers: FieldSet | undefined): void {
    if (this.phase === Phase.done) return
    this.carrier = undefined
    this.end('finish')
    this.asker.end(trailerFields(trailers, this.#answerHead as FieldSet))
  }

  carrierDrained(): void {
    if (this.phase === Phase.done) return
    this.timer.active()
    this.#resumeAsker()
  }

  carrierFailed(failure: CarrierFailure, detail: string): void {
    if (this.phase === Phase.done) return
    const wasReused = this.carrier?.isReused ?? false
    this.carrier = undefined
    // An idle connection that the upstream closes just then says nothing about the upstream.
    if (!wasReused || failure === 'invalid') this.tries.failed()
    this.tries.leave()
    if (this.phase < Phase.answer && this.tries.maySendAgain(failure, wasReused, this.#bodyBytes > 0)) {
      this.#connect()
      return
    }
    const code = failure === 'invalid' ? 'GATEWAY_UPSTREAM_INVALID' : 'GATEWAY_UPSTREAM_FAILED'
    this.fail(fault(code, detail), 'upstream-error')
  }

  /** Ends a request whose body is waited for: its address has the most of these, and there are too many. */
  crowdedOut(): void {
    if (this.phase === Phase.done) return
    this.fail(fault('GATEWAY_OVERLOADED', 'too many requests from this address are waiting for their bodies'), 'abort')
  }

  progress(): RequestInFlight {
    const { method, target, version } = this.head
    return {
      id: this.id,
      method,
      target,
      version,
      phase: phaseName(this.phase),
      tries: this.attempts?.count ?? 0,
      bodyBytes: this.#bodyBytes,
      isBodyEnded: this.#isBodyEnded,
      isClientPaused: this.isAskerPaused,
      isUpstreamPaused: this.isCarrierPaused,
      idleMs: this.timer.idleMs,
    }
  }

  // What the gateway does.

  /** Returns whether what has come of the body may be as long as it is, and ends the request where it may not. */
  #fits(): boolean {
    const { bodyLength } = this.head
    const { maxBodyBytes } = (this.found as Found).settings
    const isLonger = bodyLength >= 0 && this.#bodyBytes > bodyLength
    if (isLonger) this.bodyFault('the body is longer than its head says')
    else if (this.#bodyBytes <= maxBodyBytes) return true
    else
      this.refuse('GATEWAY_BODY_TOO_LARGE', `the body is too large; this route accepts at most ${maxBodyBytes} bytes`)
    return false
  }

  /**
   * Waits for the part of the body that the gate looks into. Most bodies come with their heads: those are decided in
   * one step. Heads of HTTP/2 may come alone, without a signal that a read is over.
   */
  #awaitBody(): void {
    this.phase = Phase.peek
    this.timer.begin(this.times.bodyIdleMs)
    setImmediate(() => {
      if (this.phase === Phase.peek) this.#inspect()
    })
  }

  #inspect(): void {
    if (this.#hasPart) this.#inspected()
    else if (!this.#isWaiting) this.#waitForBody()
  }

  /** Whether the part of the body is there that the gate looks into: all of it, where there may be no more. */
  get #hasPart(): boolean {
    if (this.#isBodyEnded) return true
    const { peekBytes, maxBodyBytes } = (this.found as Found).settings
    return this.#bodyBytes >= peekBytes && peekBytes < maxBodyBytes
  }

  /** Asks the gate about a request whose body takes its time, which is to be counted while it does. */
  #waitForBody(): void {
    this.#isWaiting = true
    if (this.gateway.gate.enter === undefined) this.#readOn()
    else this.askGate(true)
  }

  /** Reads the body of a request that may have one. */
  #readOn(): void {
    if (this.#hasPart) {
      this.#inspected()
      return
    }
    this.#leaveWaiting = this.gateway.awaitBody(this)
    if (this.#leaveWaiting === undefined) {
      this.crowdedOut()
      return
    }
    this.phase = Phase.peek
    if (this.head.expectsContinue && this.#bodyBytes === 0) this.asker.inform(100, [])
    this.timer.begin(this.times.bodyIdleMs)
    this.#resumeAsker()
  }

  #inspected(): void {
    const { peekBytes } = (this.found as Found).settings
    this.#stopWaiting()
    this.#isInspected = true
    this.body = this.#held.first(peekBytes)
    if (!this.#isBodyEnded) this.#pauseAsker()
    this.askGate()
  }

  #stopWaiting(): void {
    this.#leaveWaiting?.()
    this.#leaveWaiting = undefined
  }

  protected decided(admission: Admission): void {
    if (admission.kind === 'refused') this.answerOwn(admission)
    else if (this.#isWaiting && !this.#isInspected) this.#readOn()
    else this.#connect()
  }

  protected giveUpPlace(): boolean {
    return this.tries.giveUp(this)
  }

  protected forgetConnection(): void {
    this.tries.forget(this)
  }

  protected forgetBody(): void {
    this.#held.take()
    this.#stopWaiting()
  }

  #connect(): void {
    const { pool } = this.tries.next(this.gateway.clock.nowMs())
    if (this.head.wantsWebSocket && pool.speaksHttp2) {
      this.refuse('GATEWAY_UPGRADE_UNSUPPORTED', 'the upstream speaks HTTP/2 only')
      return
    }
    this.tries.begin()
    this.phase = Phase.connect
    this.timer.begin(this.times.connectMs)
    pool.connect(this)
  }

  protected notConnected(wrong: Fault): void {
    this.tries.failed()
    this.tries.leave()
    if (this.tries.mayConnectAgain()) this.#connect()
    else this.fail(wrong, 'upstream-error')
  }

  #request(): OutgoingRequest {
    const { member } = this.tries
    this.#outgoing ??= outgoingRequest(this.head, this.asker.facts, {
      member,
      id: this.id,
      target: this.target,
      host: this.gateway,
      hidden: this.hidden,
    })
    return this.#outgoing
  }

  #wait(): void {
    this.tries.sent()
    this.phase = Phase.wait
    this.timer.begin(this.times.firstByteMs)
  }

  #pauseAsker(): void {
    this.isAskerPaused = true
    this.asker.pause()
  }

  #resumeAsker(): void {
    if (!this.isAskerPaused) return
    this.isAskerPaused = false
    this.asker.resume()
  }
}
