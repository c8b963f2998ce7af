import type { Verdict } from '../../core/decision.ts'
import { compileLimit, type Limit, type LimitOptions } from '../../core/limit.ts'
import type {
  Charge,
  LendingStore,
  MaybePromise,
  Notice,
  NoticeListener,
  SliceReply,
  SliceRequest,
  Store,
} from '../../engine/ports.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { LendingMemoryStore } from '../lending/lending-memory-store.ts'
import { LeasedStore, type LeasedStoreOptions } from './leased-store.ts'

export const START_MS = 1_780_000_000_000

/** A memory store that counts what it is asked. */
export class Counted extends LendingMemoryStore {
  decisions = 0

  readonly exchanges: SliceRequest[] = []

  override decide(charges: readonly Charge[]): readonly Verdict[] {
    this.decisions++
    return super.decide(charges)
  }

  override exchange(request: SliceRequest): SliceReply {
    this.exchanges.push(request)
    return super.exchange(request)
  }
}

/** Passes everything on, and while `isSlow` keeps the answers until the test lets them go. */
export class SlowLender implements LendingStore {
  store: Counted
  isSlow = false
  isAway = false
  listener: NoticeListener | undefined
  readonly notices: Notice[] = []
  readonly requests: SliceRequest[] = []
  #answers: (() => void)[] = []

  constructor(store: Counted) {
    this.store = store
  }

  exchange(request: SliceRequest): MaybePromise<SliceReply> {
    this.requests.push(request)
    return this.#answer(() => this.store.exchange(request))
  }

  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    return this.#answer(() => this.store.decide(charges))
  }

  /** Lets all answers go that are kept. */
  async letGo(): Promise<void> {
    for (const answer of this.#answers.splice(0)) answer()
    for (let i = 0; i < 16; i++) await undefined
  }

  acquire: LendingStore['acquire'] = (charges) => this.store.acquire(charges)
  release: LendingStore['release'] = (lease) => this.store.release(lease)
  renew: LendingStore['renew'] = (permits) => this.store.renew(permits)
  reset: LendingStore['reset'] = (key, limit) => this.store.reset(key, limit)
  close(): void {}

  notify(notice: Notice): void {
    this.notices.push(notice)
    this.store.notify(notice)
  }

  listen(listener: NoticeListener): () => void {
    this.listener = listener
    return this.store.listen(listener)
  }

  #answer<T>(make: () => T): MaybePromise<T> {
    if (this.isAway) throw new StoreFault('timeout', 'scene', 'away')
    const answer = make()
    if (!this.isSlow) return answer
    return new Promise((resolve) => this.#answers.push(() => resolve(answer)))
  }
}

/** Returns a store with nothing but what every store has: it cannot lend. */
export function plainStore(store: Store): Store {
  return {
    decide: (charges) => store.decide(charges),
    acquire: (charges) => store.acquire(charges),
    release: (lease) => store.release(lease),
    renew: (permits) => store.renew(permits),
    reset: (key, limit) => store.reset(key, limit),
    close: () => store.close(),
  }
}

/**
 * A lender and some nodes, on one clock that the test sets. The first hit takes a slice, unless the options say when.
 */
export class Scene {
  nowMs = START_MS
  readonly #clock = { nowMs: () => this.nowMs }
  readonly lender = new Counted({ clock: this.#clock })
  readonly nodes: LeasedStore[]

  constructor(nodes = 1, options: LeasedStoreOptions = {}) {
    this.nodes = Array.from({ length: nodes }, () => this.node(options))
  }

  node(options: LeasedStoreOptions = {}, parent: LendingStore = this.lender): LeasedStore {
    return new LeasedStore(parent, { clock: this.#clock, isTimed: false, minHits: 1, ...options })
  }

  /** Lets time pass, in steps that the timer would make. */
  pass(ms: number): void {
    const until = this.nowMs + ms
    while (this.nowMs < until) {
      this.nowMs = Math.min(this.nowMs + 25, until)
      for (const node of this.nodes) node.tick()
    }
  }
}

const POLICY = { onStoreFailure: 'open', localShare: 1, timeoutMs: 5, syncIntervalMs: 100 } as const

export function charge(
  limit: Limit,
  cost = 1,
  consistency: 'exact' | 'leased' | 'eventual' = 'leased',
  key = 'k',
): Charge {
  return { key, limit, cost, enforce: true, policy: { ...POLICY, consistency } }
}

export function limitOf(options: Partial<LimitOptions> = {}): Limit {
  return compileLimit({ limit: 1000, window: '1m', ...options })
}

export async function ask(node: LeasedStore, ...charges: Charge[]): Promise<Verdict> {
  return (await node.decide(charges))[0]
}

/** Asks single hits until one is refused, at most so many, and returns how many were admitted. */
export async function spend(node: LeasedStore, one: Charge, most: number): Promise<number> {
  let admitted = 0
  while (admitted < most && (await ask(node, one)).allowed) admitted++
  return admitted
}
