import { type Attributes, type Context, createTraceState, ROOT_CONTEXT, type Tracer, trace } from '@opentelemetry/api'
import type { Decision } from '../../core/combine.ts'
import type { RequestContext } from '../../core/request.ts'
import type { PlannedCharge } from '../../engine/charge.ts'
import { WallClock } from './wall-clock.ts'

const SPAN_NAME = 'ratelimit.check'
const SAMPLED = 1

/** A decision as observers receive it. */
export interface ObservedDecision {
  readonly charges: readonly PlannedCharge[]
  readonly decision: Decision
  /** How long it took, unless `context` says when it began. */
  readonly ms: number
  readonly context: RequestContext | undefined
}

/** Makes a span of each decision when it is made, with the time at which it began. */
export class DecisionSpans {
  readonly #tracer: Tracer
  readonly #clock = new WallClock()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  /**
   * Makes a span of a decision under `parent`, if that is sampled. Attributes contain rules and numbers, never what a
   * request contained: no value of an entry, no key.
   */
  record({ charges, decision, ms, context }: ObservedDecision, parent: Context, more?: Attributes): void {
    const endedAt = performance.now()
    const startTime = this.#clock.at(context?.startedAtMs ?? endedAt - ms)
    const span = this.#tracer.startSpan(SPAN_NAME, { startTime }, parent)
    if (span.isRecording()) {
      span.setAttributes(attributesOf(charges, decision))
      if (more !== undefined) span.setAttributes(more)
    }
    span.end(this.#clock.at(endedAt))
  }
}

/** Returns the caller's span as a context, or the root where no valid one came. */
export function remoteParent({ traceId, parentSpanId, isSampled, traceState }: RequestContext = {}): Context {
  if (traceId === undefined || parentSpanId === undefined) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId: parentSpanId,
    traceFlags: isSampled === true ? SAMPLED : 0,
    isRemote: true,
    ...(traceState !== undefined && { traceState: createTraceState(traceState) }),
  })
}

function attributesOf(charges: readonly PlannedCharge[], { allowed, tightest, verdicts }: Decision): Attributes {
  const at = tightest === undefined ? 0 : verdicts.indexOf(tightest)
  const charge: PlannedCharge | undefined = charges[at]
  const fallback = verdicts.find(({ verdict }) => verdict.fallback !== undefined)?.verdict.fallback
  return {
    'ratelimit.outcome': allowed ? 'allowed' : 'refused',
    ...(charge !== undefined && { 'ratelimit.rule': charge.rule.id, 'ratelimit.cost': charge.cost }),
    ...(charge !== undefined && charge.domain !== '' && { 'ratelimit.domain': charge.domain }),
    ...(tightest !== undefined && { 'ratelimit.remaining': tightest.verdict.remaining }),
    ...(fallback !== undefined && { 'ratelimit.fallback': fallback }),
  }
}
