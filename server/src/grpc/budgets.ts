import { type BudgetRate, RateBudget } from '../net/rate-budget.ts'

/**
 * What costs us work and brings a client nothing. Every call that is answered, and every message of a stream, refunds
 * one in each of them but `settings`, so that a busy client may, say, ping as often as it hears from us: grpc-go does,
 * to measure the bandwidth. No client changes its settings with every call, and applying them may touch every stream.
 */
export interface BudgetRates {
  /** Calls that the client resets before they are answered (Rapid Reset). 500 and 100 a second. */
  readonly resets: BudgetRate
  /** Streams that we must reset because of what the client sends on them, or refuse. 500 and 100 a second. */
  readonly provokedResets: BudgetRate
  /** Header lists above the limit. 20 and 1 a second. */
  readonly largeHeaders: BudgetRate
  /** PING frames. 200 and 20 a second. */
  readonly pings: BudgetRate
  /** SETTINGS frames. 50 and 1 a second. */
  readonly settings: BudgetRate
  /** PRIORITY frames. 1,000 and 100 a second. */
  readonly priorities: BudgetRate
  /** DATA frames without data. 200 and 20 a second. */
  readonly emptyData: BudgetRate
  /** Frames of a type that we do not know. 200 and 20 a second. */
  readonly unknownFrames: BudgetRate
}

export type BudgetName = keyof BudgetRates

export const DEFAULT_BUDGETS: BudgetRates = Object.freeze({
  resets: { burst: 500, perSecond: 100 },
  provokedResets: { burst: 500, perSecond: 100 },
  largeHeaders: { burst: 20, perSecond: 1 },
  pings: { burst: 200, perSecond: 20 },
  settings: { burst: 50, perSecond: 1 },
  priorities: { burst: 1_000, perSecond: 100 },
  emptyData: { burst: 200, perSecond: 20 },
  unknownFrames: { burst: 200, perSecond: 20 },
})

/** The budgets of one connection. A connection that spends nothing holds no accounts. */
export class ConnectionBudgets {
  readonly #rates: BudgetRates
  #accounts: Partial<Record<BudgetName, RateBudget>> | undefined

  constructor(rates: BudgetRates) {
    this.#rates = rates
  }

  /** Takes one from a budget and says whether it was there. `served` counts what we did for the client. */
  spend(name: BudgetName, nowMs: number, served: number): boolean {
    const forCalls = name === 'settings' ? 0 : served
    this.#accounts ??= {}
    const account = this.#accounts[name] ?? new RateBudget(this.#rates[name], nowMs, forCalls)
    this.#accounts[name] = account
    return account.spend(nowMs, forCalls)
  }
}
