import { context as contexts, type Tracer, trace } from '@opentelemetry/api'
import type { Observer } from '../../engine/observer.ts'
import { DecisionSpans, remoteParent } from './decision-spans.ts'

export type { Observer } from '../../engine/observer.ts'

/** Who makes the spans. */
export interface OpenTelemetryOptions {
  /** Default: that of the provider which the app has registered, under the name `sluice`. */
  readonly tracer?: Tracer
}

/**
 * Returns an observer that makes a span `ratelimit.check` of each decision: a child of the span that is active when it
 * is made, and recorded where that is. Before the app registers a provider, it makes none.
 */
export function opentelemetry({ tracer = trace.getTracer('sluice') }: OpenTelemetryOptions = {}): Observer {
  const spans = new DecisionSpans(tracer)
  return {
    decided: (charges, decision, ms, context) => {
      const parent = context?.traceId === undefined ? contexts.active() : remoteParent(context)
      spans.record({ charges, decision, ms, context }, parent)
    },
  }
}
