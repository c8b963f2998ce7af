import { randomBytes } from 'node:crypto'
import { combine, type Decision, type RuleVerdict, UNLIMITED } from '../core/combine.ts'
import { UNLIMITED_VERDICT, type Verdict } from '../core/decision.ts'
import { KeyedHash } from '../core/hash.ts'
import { KeySpeller } from '../core/key-speller.ts'
import type { CheckRequest } from '../core/request.ts'
import type { AccountLookup } from '../core/rules/match.ts'
import type { RuleSet } from '../core/rules/rule-set.ts'
import { type PlannedCharge, Planner } from './plan.ts'
import type { Lease, MaybePromise, Store, SyncStore } from './ports.ts'

/** Answer is T itself from a store that answers at once, and perhaps a promise of it from any other. */
export type Answer<S extends Store, T> = S extends SyncStore ? T : MaybePromise<T>

/** A Held is the decision about an acquire, and what has to be given back when it was allowed. */
export interface Held {
  readonly decision: Decision
  readonly lease: Lease | undefined
}

export interface LimiterParts {
  /** Spells secret and long values. Nodes that share a store share its key. Default: a random key. */
  readonly hash?: KeyedHash
  /** How many partitions a shared store has. Default: 0, a store of this process alone. */
  readonly partitions?: number
  /** What is known about callers of tiered rules. */
  readonly accounts?: AccountLookup
  /**
   * Whoever asks lets refused requests pass: every rule is charged what fits, as if it were a shadow rule. Decisions say
   * what the rules say all the same. Default: false.
   */
  readonly shadow?: boolean
}

/**
 * Limiter decides about requests: it matches them against the rules in force, asks the store about all counters in one
 * call, and folds the verdicts into a decision. One call sees one version of the rules.
 */
export class Limiter<S extends Store> {
  readonly #rules: () => RuleSet
  readonly #store: S
  readonly #planner: Planner

  constructor(rules: () => RuleSet, store: S, parts: LimiterParts = {}) {
    const secret = randomBytes(8)
    const hash = parts.hash ?? new KeyedHash(secret.readInt32LE(0), secret.readInt32LE(4))
    this.#rules = rules
    this.#store = store
    this.#planner = new Planner(new KeySpeller(hash, parts.partitions), parts.accounts, parts.shadow)
  }

  /** check decides, and charges every rule that matched when all of them have budget. */
  check(request: CheckRequest): Answer<S, Decision> {
    const planned = this.#planner.plan(this.#rules(), request)
    const charges = counted(planned)
    if (charges.length === 0) return withoutStore(planned) as Answer<S, Decision>
    const verdicts = this.#store.decide(charges)
    return mapMaybe(verdicts, (all) => decisionOf(planned, all)) as Answer<S, Decision>
  }

  /** acquire is check, and also takes the places of the `concurrency` rules that matched. */
  acquire(request: CheckRequest): Answer<S, Held> {
    const planned = this.#planner.plan(this.#rules(), request)
    const charges = counted(planned)
    if (charges.length === 0) return { decision: withoutStore(planned), lease: undefined } as Answer<S, Held>
    const acquired = this.#store.acquire(charges)
    return mapMaybe(acquired, ({ verdicts, lease }): Held => {
      return { decision: decisionOf(planned, verdicts), lease }
    }) as Answer<S, Held>
  }

  /** release gives back what acquire took. */
  release(lease: Lease): Answer<S, void> {
    return this.#store.release(lease) as Answer<S, void>
  }

  /** reset forgets every counter that the request touches. */
  reset(request: CheckRequest): Answer<S, void> {
    const pending = counted(this.#planner.plan(this.#rules(), request))
      .map(({ key, limit }) => this.#store.reset(key, limit))
      .filter((result) => result instanceof Promise)
    return (pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined)) as Answer<S, void>
  }
}

/** counted leaves out the rules without a limit: the store is not asked about them. */
function counted(planned: readonly PlannedCharge[]): readonly PlannedCharge[] {
  return planned.some(({ rule }) => rule.unlimited) ? planned.filter(({ rule }) => !rule.unlimited) : planned
}

function withoutStore(planned: readonly PlannedCharge[]): Decision {
  return planned.length === 0 ? UNLIMITED : decisionOf(planned, [])
}

/** decisionOf folds the store's verdicts, and those of rules without a limit, in the order of the plan. */
function decisionOf(planned: readonly PlannedCharge[], verdicts: readonly Verdict[]): Decision {
  let next = 0
  return combine(
    planned.map(({ rule, descriptor }): RuleVerdict => {
      return { rule, descriptor, verdict: rule.unlimited ? UNLIMITED_VERDICT : verdicts[next++] }
    }),
  )
}

function mapMaybe<T, R>(value: MaybePromise<T>, map: (value: T) => R): MaybePromise<R> {
  return value instanceof Promise ? value.then(map) : map(value)
}
