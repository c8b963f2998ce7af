import type { EndKind, GateRefusal } from '../gate.ts'
import { type AnsweredCode, errorAnswer, type Fault, fault } from '../gateway-error.ts'
import type { RouteTimes } from '../options.ts'
import type { RequestHead } from '../request-head.ts'
import type { Found } from '../routes/table.ts'
import type { Asker, Carrier } from '../sides.ts'
import type { Attempts } from './attempts.ts'
import type { ExchangeHost } from './exchange-host.ts'
import { GatedRequest } from './gated-request.ts'
import { writeOwn } from './own-answer.ts'
import { Phase } from './phase.ts'
import { PhaseTimer } from './phase-timer.ts'

/** How a request ends: once, whatever happens, and in time. */
export abstract class EndingRequest extends GatedRequest {
  protected readonly timer: PhaseTimer
  protected attempts: Attempts | undefined
  protected carrier: Carrier | undefined
  protected isAskerPaused = false
  protected isCarrierPaused = false

  constructor(host: ExchangeHost, asker: Asker, head: RequestHead) {
    super(host, asker, head)
    this.timer = new PhaseTimer(host, (isTotal) => this.#timedOut(isTotal))
  }

  /** Says that there is no connection, and why. */
  protected abstract notConnected(wrong: Fault): void
  /** Refuses a request that still waits for a place at its address: true, if it did. */
  protected abstract giveUpPlace(): boolean
  /** Stops waiting for a connection. */
  protected abstract forgetConnection(): void
  /** Releases what is held of a body. */
  protected abstract forgetBody(): void

  protected get times(): RouteTimes {
    return (this.found as Found).settings.times
  }

  protected get tries(): Attempts {
    return this.attempts as Attempts
  }

  /** Ends a request that has no more time: the gateway closes. */
  stop(): void {
    if (this.phase === Phase.done) return
    this.fail(fault('GATEWAY_OVERLOADED', 'the gateway is closing'), 'abort')
  }

  /** While the gate thinks, the time of the whole alone runs. */
  protected waitsForGate(): void {
    this.timer.begin(Number.POSITIVE_INFINITY)
  }

  protected undecided(): void {
    this.refuse('GATEWAY_FAILED', 'the decision failed')
  }

  protected refuse(code: AnsweredCode, detail: string): void {
    this.fail(fault(code, detail), code === 'GATEWAY_BODY_TOO_LARGE' ? 'abort' : 'upstream-error')
  }

  /** Answers with an error, or aborts an answer that has begun, so that it is not mistaken for complete. */
  protected fail(wrong: Fault, kind: EndKind): void {
    if (this.phase === Phase.answer || this.phase === Phase.tunnel) {
      this.finish(kind)
      this.asker.abort()
      return
    }
    const answer = errorAnswer(wrong)
    this.notifyResponded(answer.status, answer.headers)
    this.finish(kind)
    writeOwn(this.asker, this.head, this.id, answer)
  }

  /** Answers without an upstream. */
  protected answerOwn(answer: GateRefusal): void {
    this.finish('finish')
    writeOwn(this.asker, this.head, this.id, answer)
  }

  /** Ends the request on the side of the upstream. */
  protected finish(kind: EndKind): void {
    const { carrier, phase } = this
    this.carrier = undefined
    if (phase === Phase.connect) this.forgetConnection()
    this.end(kind)
    carrier?.cancel()
  }

  protected end(kind: EndKind): void {
    this.phase = Phase.done
    this.forgetBody()
    this.timer.stop()
    this.attempts?.leave()
    this.notifyEnded(kind)
    this.gateway.done(this)
  }

  #timedOut(isTotal: boolean): void {
    const { phase } = this
    const isClientSlow = phase === Phase.peek || (phase === Phase.send && !this.isAskerPaused && !isTotal)
    if (isClientSlow) {
      this.fail(fault('GATEWAY_REQUEST_TIMEOUT', 'the body did not arrive in time'), 'abort')
      return
    }
    if (phase === Phase.connect && !isTotal) {
      if (this.giveUpPlace()) return
      this.forgetConnection()
      this.notConnected(fault('GATEWAY_UPSTREAM_TIMEOUT', 'no connection in time'))
      return
    }
    const isUpstreamSlow = phase >= Phase.connect && phase <= Phase.wait
    if (isUpstreamSlow) this.tries.failed()
    const kind = isUpstreamSlow || (phase === Phase.answer && !this.isCarrierPaused) ? 'upstream-error' : 'abort'
    this.fail(fault('GATEWAY_UPSTREAM_TIMEOUT', 'no answer in time'), kind)
  }
}
