import type { Decision } from '../combine.ts'
import { FieldRenderer } from './field-renderer.ts'

/** An HTTP field: name and value. */
export type Field = readonly [name: string, value: string]

const renderer = new FieldRenderer({ fallback: true })

/**
 * Renders a decision: RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers), the legacy X-RateLimit-*,
 * Retry-After on a refusal, and Sluice-Fallback where rules decided without the store: the caller of this function is
 * trusted to see it. `random` spreads the Retry-After of rules with a jitter.
 */
export function rateLimitFields(decision: Decision, nowMs: number, random?: () => number): Field[] {
  const { names, values, length } = (random === undefined ? renderer : jittering(random)).render(decision, nowMs)
  return Array.from({ length }, (_, i): Field => [names[i], values[i]])
}

const byRandom = new WeakMap<() => number, FieldRenderer>()

function jittering(random: () => number): FieldRenderer {
  const known = byRandom.get(random) ?? new FieldRenderer({ random, fallback: true })
  byRandom.set(random, known)
  return known
}
