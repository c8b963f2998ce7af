import type { MaybePromise } from 'sluice/internal/engine/ports'
import { Timer } from '../../../grpc/timer-wheel.ts'
import { type FieldSet, hasOption } from '../fields.ts'
import type { Admission, EndKind, Fields, GatewayRequest, Pass, Refusal } from '../gate.ts'
import { type AnsweredCode, errorAnswer, type Fault, fault, invalid } from '../gateway-error.ts'
import type { PhaseName, RequestUnderWay } from '../gateway-options.ts'
import { grpcRefusal, isGrpc } from '../grpc-refusal.ts'
import type { Route, RouteTimes } from '../options.ts'
import { answerFields, httpDate, outgoingFields, trailerFields } from '../outgoing-fields.ts'
import { hostOf, type RequestHead } from '../request-head.ts'
import type { Found, Table } from '../routes/table.ts'
import type { Asker, AskerListener, Carrier, CarrierFailure, CarrierListener, OutgoingRequest } from '../sides.ts'
import type { Member } from '../upstreams/member.ts'
import type { ExchangeHost } from './exchange-host.ts'

/** Phase is how far a request has come. */
const Phase = { peek: 0, gate: 1, connect: 2, send: 3, wait: 4, answer: 5, tunnel: 6, done: 7 } as const

const PHASES = Object.keys(Phase) as PhaseName[]

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/**
 * Exchange is one request and its answer: it hears the client and the upstream, and leads what the one sends to the
 * other. Whatever happens, it ends once.
 */
export class Exchange implements AskerListener, CarrierListener, GatewayRequest {
  readonly #host: ExchangeHost
  readonly #asker: Asker
  readonly #head: RequestHead
  readonly #table: Table
  readonly id: string
  readonly #timer = new Timer(() => this.#due())
  #found: Found | undefined
  #times: RouteTimes | undefined
  #phase: number = Phase.gate
  #totalDueMs = Number.POSITIVE_INFINITY
  #activeMs = 0
  #pass: Pass | undefined
  #member: Member | undefined
  #isInMember = false
  #carrier: Carrier | undefined
  #outgoing: OutgoingRequest | undefined
  #tries = 0
  #hadFreeTry = false
  /** What came of the body before there was a carrier for it. */
  #held: Buffer[] | undefined
  #bodyBytes = 0
  #isBodyEnded: boolean
  #trailers: FieldSet | undefined
  #answerHead: FieldSet | undefined
  #isAskerPaused = false
  #isCarrierPaused = false
  #onLeave: (() => void) | undefined
  #ip: string | undefined
  body: Buffer | undefined

  constructor(host: ExchangeHost, asker: Asker, head: RequestHead) {
    this.#host = host
    this.#asker = asker
    this.#head = head
    this.#table = host.table
    this.id = host.requestId(asker.facts.peer, head.fields)
    this.#isBodyEnded = head.bodyLength === 0
  }

  get method(): string {
    return this.#head.method
  }
  get target(): string {
    return this.#head.target
  }
  get host(): string {
    return hostOf(this.#head.authority)
  }
  get headers(): Fields {
    return this.#head.fields.list
  }
  get scheme(): 'http' | 'https' {
    return this.#asker.facts.scheme
  }
  get path(): string {
    return (this.#found as Found).path
  }
  get route(): Route {
    return (this.#found as Found).route
  }
  get parameters(): ReadonlyMap<string, string> {
    return (this.#found as Found).parameters
  }
  get ip(): string {
    this.#ip ??= this.#host.clientAddress(this.#asker.facts.peer, this.#head.fields)
    return this.#ip
  }
  header(name: string): string | undefined {
    return this.#head.fields.value(name)
  }
  onLeave(run: () => void): void {
    this.#onLeave = run
  }

  start(): void {
    const { method, target, authority, bodyLength } = this.#head
    if (!this.#host.hasRoom) {
      this.#refuse('GATEWAY_OVERLOADED', 'too many requests are under way')
      return
    }
    const found = this.#table.find(hostOf(authority), target, method)
    if ('code' in found) {
      this.#answerOwn(errorAnswer(found, found.allow === undefined ? [] : ['allow', found.allow]))
      return
    }
    this.#found = found
    const { times, maxBodyBytes, peekBytes } = found.settings
    this.#times = times
    if (bodyLength > maxBodyBytes) {
      this.#refuse('GATEWAY_BODY_TOO_LARGE', 'Content-Length is too large')
      return
    }
    if (method === 'OPTIONS' && this.header('max-forwards') === '0') {
      this.#answerOwn(LAST_HOP)
      return
    }
    const nowMs = this.#host.clock.nowMs()
    this.#activeMs = nowMs
    if (times.totalMs > 0) this.#totalDueMs = nowMs + times.totalMs
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
    if (this.#bodyBytes > (this.#found as Found).settings.maxBodyBytes && this.#phase !== Phase.tunnel) {
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
    this.#carrier.end(trailerFields(trailers, this.#head.fields))
    if (this.#phase === Phase.send) this.#wait()
  }

  readDone(): void {
    if (this.#phase === Phase.done) return
    if (this.#phase === Phase.peek) {
      if (this.#isBodyEnded || this.#bodyBytes >= (this.#found as Found).settings.peekBytes) this.#peeked()
      return
    }
    this.#activeMs = this.#host.clock.nowMs()
    if (this.#isBodyEnded && this.#carrier === undefined) return
    if (this.#carrier === undefined || !this.#carrier.flush()) this.#pauseAsker()
  }

  bodyFault(detail: string): void {
    if (this.#phase === Phase.done) return
    this.#fail(invalid(detail), 'abort')
  }

  askerDrained(): void {
    if (this.#phase === Phase.done) return
    this.#activeMs = this.#host.clock.nowMs()
    if (!this.#isCarrierPaused) return
    this.#isCarrierPaused = false
    this.#carrier?.resume()
  }

  left(): void {
    if (this.#phase === Phase.done) return
    const isThinking = this.#phase === Phase.gate
    this.#finish('abort')
    if (isThinking) this.#guard(() => this.#onLeave?.())
  }

  // What the upstream does.

  connected(carrier: Carrier): void {
    this.#carrier = carrier
    carrier.send(this.#request())
    this.#phase = Phase.send
    if (this.#head.expectsContinue && this.#bodyBytes === 0) this.#asker.inform(100, [])
    if (this.#held !== undefined) for (const piece of this.#held) carrier.write(piece)
    this.#held = undefined
    if (this.#isBodyEnded && !this.#head.wantsWebSocket) {
      carrier.end(trailerFields(this.#trailers, this.#head.fields))
      this.#wait()
      return
    }
    if (this.#head.wantsWebSocket) this.#wait()
    else this.#arm(this.#settings.bodyIdleMs)
    if (carrier.flush()) this.#resumeAsker()
  }

  unreachable(reason: 'failed' | 'busy', detail: string): void {
    if (reason === 'busy') {
      this.#leaveMember()
      this.#refuse('GATEWAY_OVERLOADED', detail)
      return
    }
    this.#member?.failed()
    this.#leaveMember()
    if (this.#mayTryAgain(true)) {
      this.#connect()
      return
    }
    this.#fail(fault('GATEWAY_UPSTREAM_FAILED', `no connection to the upstream (${detail})`), 'upstream-error')
  }

  informed(status: number, fields: FieldSet): void {
    // The client's wait for a 100 was ended here, and nobody else asked for one.
    if (this.#phase === Phase.done || status === 100) return
    this.#asker.inform(status, answerFields(fields, undefined, this.id))
  }

  answered(status: number, fields: FieldSet, length: number, hasBody: boolean): void {
    if (this.#phase === Phase.done) return
    this.#member?.succeeded()
    this.#phase = Phase.answer
    this.#answerHead = fields
    this.#tellResponded(status, fields.list)
    this.#asker.answer(status, answerFields(fields, this.#pass?.headers, this.id), length, hasBody)
    this.#arm(this.#settings.idleMs)
  }

  switched(fields: FieldSet): void {
    if (this.#phase === Phase.done) return
    this.#member?.succeeded()
    this.#phase = Phase.tunnel
    this.#isBodyEnded = false
    this.#answerHead = fields
    this.#tellResponded(101, fields.list)
    this.#arm(this.#settings.idleMs)
    this.#asker.accept(answerFields(fields, this.#pass?.headers, this.id))
    this.#resumeAsker()
  }

  answerPiece(piece: Buffer): void {
    if (this.#phase === Phase.done) return
    if (this.#pass?.heard !== undefined) this.#guard(() => this.#pass?.heard?.(piece))
    this.#asker.write(piece)
  }

  answerReadDone(): void {
    if (this.#phase === Phase.done) return
    this.#activeMs = this.#host.clock.nowMs()
    if (this.#asker.flush()) return
    this.#isCarrierPaused = true
    this.#carrier?.pause()
  }

  answerEnd(trailers: FieldSet | undefined): void {
    if (this.#phase === Phase.done) return
    this.#carrier = undefined
    this.#end('finish')
    this.#asker.end(trailerFields(trailers, this.#answerHead as FieldSet))
  }

  carrierDrained(): void {
    if (this.#phase === Phase.done) return
    this.#activeMs = this.#host.clock.nowMs()
    this.#resumeAsker()
  }

  carrierFailed(failure: CarrierFailure, detail: string): void {
    if (this.#phase === Phase.done) return
    const wasReused = this.#carrier?.isReused ?? false
    this.#carrier = undefined
    // An idle connection that the upstream closes just then says nothing about the upstream.
    if (!wasReused || failure === 'invalid') this.#member?.failed()
    this.#leaveMember()
    const isUnsent = failure === 'unsent' && this.#bodyBytes === 0
    if (this.#phase < Phase.answer && failure !== 'invalid') {
      if (wasReused && this.#isSafe && !this.#hadFreeTry) {
        this.#hadFreeTry = true
        this.#connect()
        return
      }
      if ((isUnsent || this.#isSafe) && this.#mayTryAgain(isUnsent)) {
        this.#connect()
        return
      }
    }
    const code = failure === 'invalid' ? 'GATEWAY_UPSTREAM_INVALID' : 'GATEWAY_UPSTREAM_FAILED'
    this.#fail(fault(code, detail), 'upstream-error')
  }

  progress(): RequestUnderWay {
    const { method, target, version } = this.#head
    return {
      id: this.id,
      method,
      target,
      version,
      phase: PHASES[this.#phase] as PhaseName,
      tries: this.#tries,
      bodyBytes: this.#bodyBytes,
      isBodyEnded: this.#isBodyEnded,
      isClientPaused: this.#isAskerPaused,
      isUpstreamPaused: this.#isCarrierPaused,
      idleMs: this.#host.clock.nowMs() - this.#activeMs,
    }
  }

  /** stop ends a request that has no more time: the gateway closes. */
  stop(): void {
    if (this.#phase === Phase.done) return
    this.#fail(fault('GATEWAY_OVERLOADED', 'the gateway is closing'), 'abort')
  }

  // What the gateway does.

  get #settings(): RouteTimes {
    return this.#times as RouteTimes
  }

  get #isSafe(): boolean {
    return SAFE.has(this.#head.method) && this.#head.bodyLength === 0 && !this.#head.wantsWebSocket
  }

  #peek(): void {
    this.#phase = Phase.peek
    if (this.#head.expectsContinue) this.#asker.inform(100, [])
    this.#arm(this.#settings.bodyIdleMs)
  }

  #peeked(): void {
    const { peekBytes } = (this.#found as Found).settings
    this.body = Buffer.concat(this.#held ?? []).subarray(0, peekBytes)
    if (!this.#isBodyEnded) this.#pauseAsker()
    this.#askGate()
  }

  #askGate(): void {
    this.#phase = Phase.gate
    let admission: MaybePromise<Admission>
    try {
      admission = this.#host.gate.admit(this)
    } catch (error) {
      this.#gateFailed(error)
      return
    }
    if (!(admission instanceof Promise)) {
      this.#admitted(admission)
      return
    }
    this.#arm(Number.POSITIVE_INFINITY)
    admission.then(
      (value) => this.#admitted(value),
      (error: unknown) => this.#gateFailed(error),
    )
  }

  #gateFailed(error: unknown): void {
    this.#host.failed(error)
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
    const upstream = this.#table.upstream((this.#found as Found).route)
    const member = upstream.pick(this.#host.clock.nowMs(), this.#member)
    if (this.#head.wantsWebSocket && member.pool.speaksHttp2) {
      this.#refuse('GATEWAY_UPGRADE_UNSUPPORTED', 'the upstream speaks HTTP/2 only')
      return
    }
    if (this.#tries++ === 0) upstream.budget.earn()
    this.#member = member
    member.begin()
    this.#isInMember = true
    this.#phase = Phase.connect
    this.#arm(this.#settings.connectMs)
    member.pool.connect(this)
  }

  #mayTryAgain(isUnsent: boolean): boolean {
    const { route, settings } = this.#found as Found
    if (this.#phase >= Phase.answer || this.#tries > settings.retries) return false
    if (!isUnsent && !this.#isSafe) return false
    return this.#table.upstream(route).budget.spend()
  }

  #request(): OutgoingRequest {
    if (this.#outgoing !== undefined) return this.#outgoing
    const { method, target, authority, fields, bodyLength, wantsWebSocket, version } = this.#head
    const { peer, scheme } = this.#asker.facts
    const isTrusted = this.#host.trusts(peer)
    const via = version === '2.0' ? this.#host.via2 : this.#host.via1
    const origin = { method, peer, scheme, authority, isTrusted, id: this.id, via }
    this.#outgoing = {
      method,
      target,
      authority: authority === '' ? (this.#member as Member).authority : authority,
      scheme: (this.#member as Member).scheme,
      fields: outgoingFields(fields, origin),
      bodyLength,
      wantsWebSocket,
      takesTrailers: hasOption(fields.te, 'trailers'),
    }
    return this.#outgoing
  }

  #wait(): void {
    this.#phase = Phase.wait
    this.#arm(this.#settings.firstByteMs)
  }

  #pauseAsker(): void {
    this.#isAskerPaused = true
    this.#asker.pause()
  }

  #resumeAsker(): void {
    if (!this.#isAskerPaused) return
    this.#isAskerPaused = false
    this.#asker.resume()
  }

  /** #arm sets the time of a phase, from now or from the last activity in it on. */
  #arm(ms: number): void {
    const nowMs = this.#host.clock.nowMs()
    this.#activeMs = nowMs
    const dueMs = Math.min(nowMs + ms, this.#totalDueMs)
    if (dueMs === Number.POSITIVE_INFINITY) this.#host.wheel.clear(this.#timer)
    else this.#host.wheel.set(this.#timer, dueMs)
  }

  #due(): void {
    const nowMs = this.#host.clock.nowMs()
    const phaseDueMs = this.#activeMs + this.#phaseMs
    if (nowMs < this.#totalDueMs && nowMs < phaseDueMs) {
      this.#host.wheel.set(this.#timer, Math.min(phaseDueMs, this.#totalDueMs))
      return
    }
    this.#timedOut(nowMs >= this.#totalDueMs)
  }

  get #phaseMs(): number {
    const { connectMs, bodyIdleMs, firstByteMs, idleMs } = this.#settings
    switch (this.#phase) {
      case Phase.peek:
      case Phase.send:
        return bodyIdleMs
      case Phase.gate:
        return Number.POSITIVE_INFINITY
      case Phase.connect:
        return connectMs
      case Phase.wait:
        return firstByteMs
      default:
        return idleMs
    }
  }

  #timedOut(isTotal: boolean): void {
    const phase = this.#phase
    const isClientSlow = phase === Phase.peek || (phase === Phase.send && !this.#isAskerPaused && !isTotal)
    if (isClientSlow) {
      this.#fail(fault('GATEWAY_REQUEST_TIMEOUT', 'the body did not arrive in time'), 'abort')
      return
    }
    if (phase === Phase.connect && !isTotal) {
      this.#member?.pool.forget(this)
      this.#connectTimedOut()
      return
    }
    const isUpstreamSlow = phase >= Phase.connect && phase <= Phase.wait
    if (isUpstreamSlow) this.#member?.failed()
    const kind = isUpstreamSlow || (phase === Phase.answer && !this.#isCarrierPaused) ? 'upstream-error' : 'abort'
    this.#fail(fault('GATEWAY_UPSTREAM_TIMEOUT', 'the answer did not come in time'), kind)
  }

  #connectTimedOut(): void {
    this.#member?.failed()
    this.#leaveMember()
    if (this.#mayTryAgain(true)) {
      this.#connect()
      return
    }
    this.#fail(fault('GATEWAY_UPSTREAM_TIMEOUT', 'no connection in time'), 'upstream-error')
  }

  #refuse(code: AnsweredCode, detail: string): void {
    this.#fail(fault(code, detail), code === 'GATEWAY_BODY_TOO_LARGE' ? 'abort' : 'upstream-error')
  }

  /** #fail answers with an error, or ends an answer that has begun so that nobody takes it for complete. */
  #fail(wrong: Fault, kind: EndKind): void {
    if (this.#phase === Phase.answer || this.#phase === Phase.tunnel) {
      this.#finish(kind)
      this.#asker.abort()
      return
    }
    const answer = errorAnswer(wrong)
    this.#tellResponded(answer.status, answer.headers)
    this.#finish(kind)
    this.#write(answer)
  }

  /** #answerOwn answers without an upstream. */
  #answerOwn(answer: Refusal): void {
    this.#finish('finish')
    this.#write(answer)
  }

  #write(answer: Refusal): void {
    const asker = this.#asker
    const { status, headers, body } = isGrpc(this.header('content-type')) ? grpcRefusal(answer) : answer
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const hasBody = this.#head.method !== 'HEAD' && status !== 204 && status !== 304 && bytes.length > 0
    const length = status === 204 || status === 304 ? -1 : bytes.length
    asker.answer(status, [...headers, 'date', httpDate(), 'x-request-id', this.id], length, hasBody)
    if (hasBody) asker.write(bytes)
    asker.end(undefined)
  }

  /** #finish ends the request on the side of the upstream. */
  #finish(kind: EndKind): void {
    const carrier = this.#carrier
    const phase = this.#phase
    this.#carrier = undefined
    if (phase === Phase.connect) this.#member?.pool.forget(this)
    this.#end(kind)
    carrier?.cancel()
  }

  #end(kind: EndKind): void {
    this.#phase = Phase.done
    this.#held = undefined
    this.#host.wheel.clear(this.#timer)
    this.#leaveMember()
    this.#tellEnded(kind)
    this.#host.done(this)
  }

  #leaveMember(): void {
    // It is remembered, so that another try goes elsewhere.
    if (this.#isInMember) this.#member?.end()
    this.#isInMember = false
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
      this.#host.failed(error)
    }
  }
}

/** Whoever asks for the options of the last hop gets none. */
const LAST_HOP: Refusal = { kind: 'refused', status: 204, headers: [], body: '' }
