import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { FieldSet } from '../fields.ts'
import type { Admission, EndKind, Fields, Pass, Refusal } from '../gate.ts'
import { type AnsweredCode, errorAnswer, type Fault, fault, invalid, SHED_BY_UPSTREAM } from '../gateway-error.ts'
import type { RequestUnderWay } from '../gateway-options.ts'
import type { RouteTimes } from '../options.ts'
import { answerFields, trailerFields } from '../outgoing-fields.ts'
import { hostOf, type RequestHead } from '../request-head.ts'
import type { Found, Table } from '../routes/table.ts'
import type { Asker, AskerListener, Carrier, CarrierFailure, CarrierListener, OutgoingRequest } from '../sides.ts'
import { AskedRequest } from './asked-request.ts'
import { Attempts } from './attempts.ts'
import type { ExchangeHost } from './exchange-host.ts'
import { outgoingRequest } from './outgoing-request.ts'
import { LAST_HOP, writeOwn } from './own-answer.ts'
import { Phase, phaseName } from './phase.ts'
import { PhaseTimer } from './phase-timer.ts'

/**
 * Exchange is one request and its answer: it hears the client and the upstream, and leads what the one sends to the
 * other. Whatever happens, it ends once.
 */
export class Exchange extends AskedRequest implements AskerListener, CarrierListener {
  readonly #table: Table
  readonly #timer: PhaseTimer
  #phase: number = Phase.gate
  #pass: Pass | undefined
  #attempts: Attempts | undefined
  #carrier: Carrier | undefined
  #outgoing: OutgoingRequest | undefined
  /** What came of the body before there was a carrier for it. */
  #held: Buffer[] | undefined
  #bodyBytes = 0
  #isBodyEnded: boolean
  #trailers: FieldSet | undefined
  #answerHead: FieldSet | undefined
  #isAskerPaused = false
  #isCarrierPaused = false

  constructor(host: ExchangeHost, asker: Asker, head: RequestHead) {
    super(host, asker, head)
    this.#table = host.table
    this.#timer = new PhaseTimer(host, (isTotal) => this.#timedOut(isTotal))
    this.#isBodyEnded = head.bodyLength === 0
  }

  start(): void {
    const { method, target, authority, bodyLength } = this.head
    if (!this.gateway.hasRoom) {
      this.#refuse('GATEWAY_OVERLOADED', 'too many requests are under way')
      return
    }
    const found = this.#table.find(hostOf(authority), target, method)
    if ('code' in found) {
      this.#answerOwn(errorAnswer(found, found.allow === undefined ? [] : ['allow', found.allow]))
      return
    }
    this.found = found
    const { times, maxBodyBytes, peekBytes } = found.settings
    if (bodyLength > maxBodyBytes) {
      this.#refuse('GATEWAY_BODY_TOO_LARGE', 'Content-Length is too large')
      return
    }
    if (method === 'OPTIONS' && this.header('max-forwards') === '0') {
      this.#answerOwn(LAST_HOP)
      return
    }
    this.#attempts = new Attempts(this.#table, found, this.head, this)
    this.#timer.start(times.totalMs)
    if (peekBytes > 0 && !this.#isBodyEnded) {
      this.#peek()
      return
    }
    this.#askGate()
  }

  // What the client does.

  bodyPiece(piece: Buffer): void {
    if (this.#phase === Phase.done) return
    this.#bodyBytes += piece.length
    if (this.#bodyBytes > (this.found as Found).settings.maxBodyBytes && this.#phase !== Phase.tunnel) {
      this.#refuse('GATEWAY_BODY_TOO_LARGE', 'the body is too large')
      return
    }
    if (this.#carrier !== undefined) this.#carrier.write(piece)
    else if (this.#held === undefined) this.#held = [piece]
    else this.#held.push(piece)
  }

  bodyEnd(trailers: FieldSet | undefined): void {
    if (this.#phase === Phase.done) return
    this.#isBodyEnded = true
    this.#trailers = trailers
    if (this.#carrier === undefined) return
    this.#carrier.end(trailerFields(trailers, this.head.fields))
    if (this.#phase === Phase.send) this.#wait()
  }

  readDone(): void {
    if (this.#phase === Phase.done) return
    if (this.#phase === Phase.peek) {
      if (this.#isBodyEnded || this.#bodyBytes >= (this.found as Found).settings.peekBytes) this.#peeked()
      return
    }
    this.#timer.active()
    if (this.#isBodyEnded && this.#carrier === undefined) return
    if (this.#carrier === undefined || !this.#carrier.flush()) this.#pauseAsker()
  }

  bodyFault(detail: string): void {
    if (this.#phase === Phase.done) return
    this.#fail(invalid(detail), 'abort')
  }

  askerDrained(): void {
    if (this.#phase === Phase.done) return
    this.#timer.active()
    if (!this.#isCarrierPaused) return
    this.#isCarrierPaused = false
    this.#carrier?.resume()
  }

  left(): void {
    if (this.#phase === Phase.done) return
    const isThinking = this.#phase === Phase.gate
    this.#finish('abort')
    if (isThinking) this.#guard(() => this.whenLeft?.())
  }

  // What the upstream does.

  connected(carrier: Carrier): void {
    this.#carrier = carrier
    carrier.send(this.#request())
    this.#phase = Phase.send
    if (this.head.expectsContinue && this.#bodyBytes === 0) this.asker.inform(100, [])
    if (this.#held !== undefined) for (const piece of this.#held) carrier.write(piece)
    this.#held = undefined
    if (this.#isBodyEnded && !this.head.wantsWebSocket) {
      carrier.end(trailerFields(this.#trailers, this.head.fields))
      this.#wait()
      return
    }
    if (this.head.wantsWebSocket) this.#wait()
    else this.#timer.begin(this.#settings.bodyIdleMs)
    if (carrier.flush()) this.#resumeAsker()
  }

  unreachable(reason: 'failed' | 'busy' | 'shed', detail: string): void {
    if (reason !== 'failed') {
      this.#tries.leave()
      this.#fail(fault('GATEWAY_OVERLOADED', detail, reason === 'shed' ? SHED_BY_UPSTREAM : undefined), 'unserved')
      return
    }
    this.#notConnected(fault('GATEWAY_UPSTREAM_FAILED', `no connection to the upstream (${detail})`))
  }

  informed(status: number, fields: FieldSet): void {
    // The client's wait for a 100 was ended here, and nobody else asked for one.
    if (this.#phase === Phase.done || status === 100) return
    this.asker.inform(status, answerFields(fields, undefined, this.id))
  }

  answered(status: number, fields: FieldSet, length: number, hasBody: boolean): void {
    if (this.#phase === Phase.done) return
    this.#tries.succeeded()
    this.#phase = Phase.answer
    this.#answerHead = fields
    this.#tellResponded(status, fields.list)
    this.asker.answer(status, answerFields(fields, this.#pass?.headers, this.id), length, hasBody)
    this.#timer.begin(this.#settings.idleMs)
  }

  switched(fields: FieldSet): void {
    if (this.#phase === Phase.done) return
    this.#tries.succeeded()
    this.#phase = Phase.tunnel
    this.#isBodyEnded = false
    this.#answerHead = fields
    this.#tellResponded(101, fields.list)
    this.#timer.begin(this.#settings.idleMs)
    this.asker.accept(answerFields(fields, this.#pass?.headers, this.id))
    this.#resumeAsker()
  }

  answerPiece(piece: Buffer): void {
    if (this.#phase === Phase.done) return
    if (this.#pass?.heard !== undefined) this.#guard(() => this.#pass?.heard?.(piece))
    this.asker.write(piece)
  }

  answerReadDone(): void {
    if (this.#phase === Phase.done) return
    this.#timer.active()
    if (this.asker.flush()) return
    this.#isCarrierPaused = true
    this.#carrier?.pause()
  }

  answerEnd(trailers: FieldSet | undefined): void {
    if (this.#phase === Phase.done) return
    this.#carrier = undefined
    this.#end('finish')
    this.asker.end(trailerFields(trailers, this.#answerHead as FieldSet))
  }

  carrierDrained(): void {
    if (this.#phase === Phase.done) return
    this.#timer.active()
    this.#resumeAsker()
  }

  carrierFailed(failure: CarrierFailure, detail: string): void {
    if (this.#phase === Phase.done) return
    const wasReused = this.#carrier?.isReused ?? false
    this.#carrier = undefined
    // An idle connection that the upstream closes just then says nothing about the upstream.
    if (!wasReused || failure === 'invalid') this.#tries.failed()
    this.#tries.leave()
    if (this.#phase < Phase.answer && this.#tries.maySendAgain(failure, wasReused, this.#bodyBytes > 0)) {
      this.#connect()
      return
    }
    const code = failure === 'invalid' ? 'GATEWAY_UPSTREAM_INVALID' : 'GATEWAY_UPSTREAM_FAILED'
    this.#fail(fault(code, detail), 'upstream-error')
  }

  progress(): RequestUnderWay {
    const { method, target, version } = this.head
    return {
      id: this.id,
      method,
      target,
      version,
      phase: phaseName(this.#phase),
      tries: this.#attempts?.count ?? 0,
      bodyBytes: this.#bodyBytes,
      isBodyEnded: this.#isBodyEnded,
      isClientPaused: this.#isAskerPaused,
      isUpstreamPaused: this.#isCarrierPaused,
      idleMs: this.#timer.idleMs,
    }
  }

  /** stop ends a request that has no more time: the gateway closes. */
  stop(): void {
    if (this.#phase === Phase.done) return
    this.#fail(fault('GATEWAY_OVERLOADED', 'the gateway is closing'), 'abort')
  }

  // What the gateway does.

  get #settings(): RouteTimes {
    return (this.found as Found).settings.times
  }

  get #tries(): Attempts {
    return this.#attempts as Attempts
  }

  #peek(): void {
    this.#phase = Phase.peek
    if (this.head.expectsContinue) this.asker.inform(100, [])
    this.#timer.begin(this.#settings.bodyIdleMs)
  }

  #peeked(): void {
    const { peekBytes } = (this.found as Found).settings
    this.body = Buffer.concat(this.#held ?? []).subarray(0, peekBytes)
    if (!this.#isBodyEnded) this.#pauseAsker()
    this.#askGate()
  }

  #askGate(): void {
    this.#phase = Phase.gate
    let admission: MaybePromise<Admission>
    try {
      admission = this.gateway.gate.admit(this)
    } catch (error) {
      this.#gateFailed(error)
      return
    }
    if (!(admission instanceof Promise)) {
      this.#admitted(admission)
      return
    }
    this.#timer.begin(Number.POSITIVE_INFINITY)
    admission.then(
      (value) => this.#admitted(value),
      (error: unknown) => this.#gateFailed(error),
    )
  }

  #gateFailed(error: unknown): void {
    this.gateway.failed(error)
    if (this.#phase !== Phase.done) this.#refuse('GATEWAY_FAILED', 'the request could not be decided')
  }

  #admitted(admission: Admission): void {
    if (admission.kind === 'admitted') this.#pass = admission
    if (this.#phase === Phase.done) {
      // The client left, or its time was over, while the gate was thinking.
      this.#tellEnded('abort')
      return
    }
    if (admission.kind === 'refused') this.#answerOwn(admission)
    else this.#connect()
  }

  #connect(): void {
    const { pool } = this.#tries.next(this.gateway.clock.nowMs())
    if (this.head.wantsWebSocket && pool.speaksHttp2) {
      this.#refuse('GATEWAY_UPGRADE_UNSUPPORTED', 'the upstream speaks HTTP/2 only')
      return
    }
    this.#tries.begin()
    this.#phase = Phase.connect
    this.#timer.begin(this.#settings.connectMs)
    pool.connect(this)
  }

  #notConnected(wrong: Fault): void {
    this.#tries.failed()
    this.#tries.leave()
    if (this.#tries.mayConnectAgain()) this.#connect()
    else this.#fail(wrong, 'upstream-error')
  }

  #request(): OutgoingRequest {
    const { member } = this.#tries
    this.#outgoing ??= outgoingRequest(this.head, this.asker.facts, {
      member,
      id: this.id,
      host: this.gateway,
      hidden: this.hidden,
    })
    return this.#outgoing
  }

  #wait(): void {
    this.#tries.sent()
    this.#phase = Phase.wait
    this.#timer.begin(this.#settings.firstByteMs)
  }

  #pauseAsker(): void {
    this.#isAskerPaused = true
    this.asker.pause()
  }

  #resumeAsker(): void {
    if (!this.#isAskerPaused) return
    this.#isAskerPaused = false
    this.asker.resume()
  }

  #timedOut(isTotal: boolean): void {
    const phase = this.#phase
    const isClientSlow = phase === Phase.peek || (phase === Phase.send && !this.#isAskerPaused && !isTotal)
    if (isClientSlow) {
      this.#fail(fault('GATEWAY_REQUEST_TIMEOUT', 'the body did not arrive in time'), 'abort')
      return
    }
    if (phase === Phase.connect && !isTotal) {
      if (this.#tries.giveUp(this)) return
      this.#tries.forget(this)
      this.#notConnected(fault('GATEWAY_UPSTREAM_TIMEOUT', 'no connection in time'))
      return
    }
    const isUpstreamSlow = phase >= Phase.connect && phase <= Phase.wait
    if (isUpstreamSlow) this.#tries.failed()
    const kind = isUpstreamSlow || (phase === Phase.answer && !this.#isCarrierPaused) ? 'upstream-error' : 'abort'
    this.#fail(fault('GATEWAY_UPSTREAM_TIMEOUT', 'the answer did not come in time'), kind)
  }

  #refuse(code: AnsweredCode, detail: string): void {
    this.#fail(fault(code, detail), code === 'GATEWAY_BODY_TOO_LARGE' ? 'abort' : 'upstream-error')
  }

  /** #fail answers with an error, or ends an answer that has begun so that nobody takes it for complete. */
  #fail(wrong: Fault, kind: EndKind): void {
    if (this.#phase === Phase.answer || this.#phase === Phase.tunnel) {
      this.#finish(kind)
      this.asker.abort()
      return
    }
    const answer = errorAnswer(wrong)
    this.#tellResponded(answer.status, answer.headers)
    this.#finish(kind)
    writeOwn(this.asker, this.head, this.id, answer)
  }

  /** #answerOwn answers without an upstream. */
  #answerOwn(answer: Refusal): void {
    this.#finish('finish')
    writeOwn(this.asker, this.head, this.id, answer)
  }

  /** #finish ends the request on the side of the upstream. */
  #finish(kind: EndKind): void {
    const carrier = this.#carrier
    const phase = this.#phase
    this.#carrier = undefined
    if (phase === Phase.connect) this.#tries.forget(this)
    this.#end(kind)
    carrier?.cancel()
  }

  #end(kind: EndKind): void {
    this.#phase = Phase.done
    this.#held = undefined
    this.#timer.stop()
    this.#attempts?.leave()
    this.#tellEnded(kind)
    this.gateway.done(this)
  }

  #tellResponded(status: number, fields: Fields): void {
    if (this.#pass?.responded !== undefined) this.#guard(() => this.#pass?.responded?.(status, fields))
  }

  #tellEnded(kind: EndKind): void {
    const pass = this.#pass
    this.#pass = undefined
    if (pass !== undefined) this.#guard(() => pass.ended(kind))
  }

  /** #guard keeps what a gate throws away from the connection. */
  #guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.gateway.failed(error)
    }
  }
}
