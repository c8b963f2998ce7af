import { combine, type Decision, type RuleVerdict } from 'sluice/internal/core/combine'
import { refusedVerdict, type Verdict } from 'sluice/internal/core/decision'
import { Lru } from 'sluice/internal/core/lru'
import type { RequestContext } from 'sluice/internal/core/request'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { andThen } from 'sluice/internal/engine/maybe'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { GatewayLimiter } from './gateway-limiter.ts'

/** How many blocks a process remembers. Beyond that, the least recently seen callers are looked up again. */
const MAX_KNOWN = 20_000

/**
 * The blocks that this process knows to be in force. Their store decides whether they still are; what is known here
 * applies where it does not answer, and where a refusal is known without asking it. So no outage lets a blocked caller
 * through, and the answer always has the remaining time of its block.
 */
export class Blocks {
  readonly #limiter: GatewayLimiter
  readonly #nowMs: () => number
  readonly #untilMs = new Lru<string, number>(MAX_KNOWN)

  constructor(limiter: GatewayLimiter, nowMs: () => number = () => performance.now()) {
    this.#limiter = limiter
    this.#nowMs = nowMs
  }

  /** Takes from verdicts about blocks which of them are in force. */
  learn(charges: readonly PlannedCharge[], verdicts: readonly RuleVerdict[]): void {
    charges.forEach((charge, i) => {
      const found = verdicts[i]
      if (charge.isCondition !== true || found === undefined || !isAsked(found)) return
      const { verdict } = found
      if (verdict.kind === 'refused') this.#untilMs.set(nameOf(charge), this.#nowMs() + verdict.retryAfterMs)
      else if (this.#untilMs.size > 0) this.#untilMs.delete(nameOf(charge))
    })
  }

  /** Takes a block that begins now. */
  imposed(charges: readonly PlannedCharge[], verdicts: readonly RuleVerdict[]): void {
    charges.forEach((charge, i) => {
      const { allowed, resetAfterMs } = verdicts[i]?.verdict ?? {}
      if (allowed === true) this.#untilMs.set(nameOf(charge), this.#nowMs() + (resetAfterMs ?? 0))
    })
  }

  /** Returns whether one of the blocks that a request would look at is known to be in force. */
  knows(charges: readonly PlannedCharge[]): boolean {
    return this.#untilMs.size > 0 && charges.some((charge) => this.#leftMs(charge) > 0)
  }

  /**
   * Returns the decision about a caller that is known to be blocked, which is charged nothing; undefined where it is
   * not any more.
   */
  refuse(charges: readonly PlannedCharge[], context: RequestContext | undefined): MaybePromise<Decision | undefined> {
    const looks = charges.map((charge): PlannedCharge => ({ ...charge, cost: 0, isAside: true }))
    return andThen(this.#limiter.decide(looks), ({ verdicts }) => {
      this.learn(charges, verdicts)
      const found = charges.map((charge, i) => this.#verdictOf(charge, verdicts[i]))
      const isBlocked = charges.some((charge, i) => charge.isCondition === true && found[i]?.allowed === false)
      if (!isBlocked || !found.every((verdict) => verdict !== undefined)) return undefined
      return this.#limiter.conclude(charges, found, context)
    })
  }

  /** Returns a decision about a caller that was found to be blocked after it. */
  shown(charges: readonly PlannedCharge[], { verdicts }: Decision): Decision {
    return combine(
      verdicts.map((found, i) => ({
        ...found,
        verdict: (charges[i] && this.#verdictOf(charges[i], found)) ?? found.verdict,
      })),
    )
  }

  #verdictOf(charge: PlannedCharge, found: RuleVerdict | undefined): Verdict | undefined {
    if (found === undefined || found.rule !== charge.rule) return undefined
    if (charge.isCondition !== true || isAsked(found)) return found.verdict
    const leftMs = Math.ceil(this.#leftMs(charge))
    return leftMs > 0 ? refusedVerdict(charge.limit.max, 0, leftMs, leftMs) : found.verdict
  }

  #leftMs(charge: PlannedCharge): number {
    if (charge.isCondition !== true || !charge.enforce) return 0
    return (this.#untilMs.get(nameOf(charge)) ?? 0) - this.#nowMs()
  }
}

/** Returns whether a verdict is the store's own, and no guess without it. */
function isAsked({ verdict }: RuleVerdict): boolean {
  return verdict.fallback === undefined && verdict.unasked !== true
}

function nameOf({ key, limit }: PlannedCharge): string {
  return `${limit.shape} ${key}`
}
