import { storedKey } from 'sluice/internal/core/keys'
import { holdsPermits, type Limit } from 'sluice/internal/core/limit'
import type { Lent } from 'sluice/internal/stores/redis/formats/exchange-format'
import type { Counters } from './open-counters.ts'

/** What a counter shows to a caller that only looks. */
export interface CounterState {
  readonly used: number
  /** The remaining budget, lent or not. */
  readonly remaining: number
  readonly lent: Lent
  readonly resetAfterMs: number
  /** 0: not known, or not refused. */
  readonly retryAfterMs: number
  /** No wait helps: the limit admits nothing. */
  readonly isImpossible: boolean
  /** Permits are held, not used. */
  readonly holdsPermits: boolean
}

/** Reads a counter without changing it. */
export async function stateOf({ store, whenConnected }: Counters, key: string, limit: Limit): Promise<CounterState> {
  const [verdict] = await whenConnected(() => store.decide([{ key, limit, cost: 0, enforce: true }]))
  const lent = await whenConnected(() => store.counters.lent(storedKey(key, limit)))
  const { remaining, resetAfterMs } = verdict
  return {
    used: limit.capacity - remaining,
    remaining,
    lent,
    resetAfterMs,
    retryAfterMs: verdict.kind === 'refused' ? verdict.retryAfterMs : 0,
    isImpossible: verdict.kind === 'impossible',
    holdsPermits: holdsPermits(limit),
  }
}
