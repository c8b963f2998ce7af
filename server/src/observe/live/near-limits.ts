import type { Decision, RuleVerdict } from 'sluice/internal/core/combine'
import { isOfDomain } from 'sluice/internal/core/keys'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { DoorObserver, ObservedDoor } from '../door-observer.ts'
import { type CallerNames, type KnownCaller, sizeOf } from './caller-names.ts'

/** A caller that has used most of a limit: plain data. */
export interface NearLimit extends KnownCaller {
  /** When the caller was last decided about. */
  readonly atMs: number
  readonly domain: string
  readonly rule: string
  /** The caller, as it may be shown. */
  readonly key: string
  readonly limit: number
  readonly remaining: number
  readonly windowMs: number
  /** When the counter is unused again. */
  readonly resetAtMs: number
}

/** How many callers a process remembers: the most recent ones. */
export const MAX_NEAR = 1_000
/** Who is near: a fifth of the budget is left, or less. */
const LEFT = 5

interface Held {
  readonly charge: PlannedCharge
  readonly verdict: RuleVerdict
  readonly atMs: number
}

/** Remembers callers that have used 80 % of a limit or more, until their counter is unused again. */
export class NearLimits implements DoorObserver {
  readonly #names: CallerNames
  readonly #nowMs: () => number
  readonly #held = new Map<string, Held>()

  constructor(names: CallerNames, nowMs: () => number = Date.now) {
    this.#names = names
    this.#nowMs = nowMs
  }

  decided(_door: ObservedDoor, charges: readonly PlannedCharge[], { verdicts }: Decision): void {
    for (let i = 0; i < charges.length; i++) {
      const { verdict } = verdicts[i]
      // The budget is unknown where the store was not asked, and a limit of 0 is not a budget.
      if (verdict.remaining * LEFT > verdict.limit || verdict.limit === 0) continue
      if (verdict.unasked === true || verdict.fallback !== undefined || charges[i].cost <= 0) continue
      this.#hold(charges[i], verdicts[i])
    }
  }

  /** Returns who is near a limit now, the nearest first. */
  list(): readonly NearLimit[] {
    const nowMs = this.#nowMs()
    const found: NearLimit[] = []
    for (const [name, { charge, verdict: said, atMs }] of this.#held) {
      const { verdict } = said
      const resetAtMs = atMs + verdict.resetAfterMs
      if (resetAtMs <= nowMs) {
        this.#held.delete(name)
        continue
      }
      const { domain, rule, limit } = charge
      found.push({
        ...this.#names.of(charge),
        ...{ atMs, domain, rule: rule.id, limit: verdict.limit, remaining: verdict.remaining },
        ...{ windowMs: limit.windowMs, resetAtMs },
      })
    }
    return found.sort(byShare)
  }

  /** Forgets a counter, which was reset. */
  forget(key: string): void {
    this.#held.delete(key)
  }

  /** Forgets the counters of a domain, which is given as keys contain it. */
  forgetDomain(domain: string): void {
    for (const key of this.#held.keys()) if (isOfDomain(key, domain)) this.#held.delete(key)
  }

  /** Forgets the counters of a caller. */
  forgetCaller(isCaller: (known: KnownCaller) => boolean): void {
    for (const [key, { charge }] of this.#held) if (this.#names.callersIn(charge).some(isCaller)) this.#held.delete(key)
  }

  #hold(charge: PlannedCharge, verdict: RuleVerdict): void {
    if (sizeOf(charge.entries) > MAX_CHARACTERS) return
    // Who was seen last stands last.
    this.#held.delete(charge.key)
    this.#held.set(charge.key, { charge, verdict, atMs: this.#nowMs() })
    if (this.#held.size <= MAX_NEAR) return
    for (const oldest of this.#held.keys()) {
      this.#held.delete(oldest)
      return
    }
  }
}

/** A request whose entries have more characters is not remembered: it would hold too much memory. */
const MAX_CHARACTERS = 4_096

/** Orders callers: who has the smallest share left comes first. */
export function byShare(a: NearLimit, b: NearLimit): number {
  return a.remaining / a.limit - b.remaining / b.limit || b.atMs - a.atMs
}
