import type { Verdict } from '../../core/decision.ts'
import { holdsPermits, type Limit } from '../../core/limit.ts'

interface KnownRefusal {
  readonly limit: Limit
  readonly cost: number
  readonly untilMs: number
  readonly retryAtMs: number
  readonly resetAtMs: number
}

/** Into how many kinds keys are divided, to know which may have been cleared while an answer was on its way. */
const CLEARINGS = 1024

/** Refusals for less time than this are over before they save a trip. */
const MIN_REFUSAL_MS = 2

/**
 * Remembers which keys have nothing left, and until when, so that they are refused again without asking: exactly as
 * long as the store said, counted from when it was asked. It holds a bounded number; what it forgets is asked again.
 */
export class Refusals {
  readonly #maxSize: number
  readonly #refusals = new Map<string, KnownRefusal>()
  /**
   * Stands before the oldest, because what it has passed is gone. A new iterator would have to pass by all that was
   * deleted since the map last grew: 40 µs at 50,000 keys.
   */
  readonly #oldest = this.#refusals.keys()
  /** When a key of each kind was cleared last: what was asked before then may have been refused before it. */
  readonly #clearedAtMs = new Float64Array(CLEARINGS)
  #allClearedAtMs = Number.NEGATIVE_INFINITY

  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  get size(): number {
    return this.#refusals.size
  }

  /** Returns whether find knows that a cost is refused. */
  has(key: string, limit: Limit, cost: number, nowMs: number): boolean {
    const refusal = this.#refusals.get(key)
    return refusal !== undefined && nowMs < refusal.untilMs && refusal.limit === limit && refusal.cost === cost
  }

  /**
   * Returns the verdict on a cost that is known to be refused. A limit that was changed, and another cost, ask again.
   */
  find(key: string, limit: Limit, cost: number, nowMs: number): Verdict | undefined {
    const refusal = this.#refusals.get(key)
    if (refusal === undefined) return undefined
    if (nowMs >= refusal.untilMs || refusal.limit !== limit) {
      this.#refusals.delete(key)
      return undefined
    }
    if (cost !== refusal.cost) return undefined
    return {
      kind: 'refused',
      allowed: false,
      limit: limit.max,
      remaining: 0,
      resetAfterMs: Math.max(0, Math.ceil(refusal.resetAtMs - nowMs)),
      retryAfterMs: Math.max(1, Math.ceil(refusal.retryAtMs - nowMs)),
    }
  }

  /**
   * Remembers a refusal that nothing but time ends: the counter has nothing left, refused hits do not count, and it
   * holds no permits. `maxMs` bounds it where this node would not hear that the counter was reset.
   */
  add(key: string, limit: Limit, cost: number, verdict: Verdict, askedAtMs: number, maxMs: number): void {
    if (verdict.kind !== 'refused' || verdict.remaining > 0 || verdict.fallback !== undefined || verdict.lent) return
    if (limit.countDenied || holdsPermits(limit) || verdict.retryAfterMs < MIN_REFUSAL_MS) return
    if (askedAtMs <= this.#clearedAtMs[kindOf(key)] || askedAtMs < this.#allClearedAtMs) return
    this.#refusals.delete(key)
    this.#refusals.set(key, {
      limit,
      cost,
      untilMs: askedAtMs + Math.min(verdict.retryAfterMs, maxMs),
      retryAtMs: askedAtMs + verdict.retryAfterMs,
      resetAtMs: askedAtMs + verdict.resetAfterMs,
    })
    if (this.#refusals.size > this.#maxSize) this.#refusals.delete(this.#oldest.next().value as string)
  }

  /** Forgets a refusal, and one that may be in flight. */
  delete(key: string, nowMs: number): void {
    this.#clearedAtMs[kindOf(key)] = nowMs
    this.#refusals.delete(key)
  }

  /** Forgets all refusals, including refusals that may still arrive. */
  clear(nowMs: number): void {
    this.#allClearedAtMs = nowMs
    this.#refusals.clear()
  }
}

function kindOf(key: string): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  return (hash ^ (hash >>> 16)) & (CLEARINGS - 1)
}
