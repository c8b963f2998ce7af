import type { Decision } from '../../core/combine.ts'
import { SluiceError } from '../../core/errors.ts'
import type { Hit } from '../../http-door/hit-gate.ts'
import type { RateLimitVariable } from '../../middleware/hono/options.ts'

/** What the context shows of a hit. It has the properties that hono-rate-limiter defines. */
export class HitVariable implements RateLimitVariable {
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly resetTime: Date | undefined
  readonly #decision: Decision

  constructor({ limit, used, remaining, resetTime }: Hit, decision: Decision) {
    this.limit = limit
    this.used = used
    this.remaining = remaining
    this.resetTime = resetTime
    this.#decision = decision
  }

  async settle(): Promise<undefined> {
    throw new SluiceError('GATE_OPTIONS_INVALID', 'settle', 'hits of hono-rate-limiter have no cost')
  }

  get decision(): Decision {
    return this.#decision
  }
}
