import { seededRandom } from '../../core/algorithms/oracle.suite.ts'
import { compileLimit, type Limit, type LimitOptions } from '../../core/limit.ts'
import type { Charge } from '../../engine/ports.ts'
import { LendingMemoryStore } from '../lending/lending-memory-store.ts'
import { RateBook } from './rate-book.suite.ts'
import { SampledStore } from './sampled-store.ts'

export const START_MS = 1_780_000_000_000
const STEP_MS = 10
const REPORT_MS = 100

/** A limit that chance alone misses by less than two percent. */
export function limitOf(options: Partial<LimitOptions> = {}): Limit {
  return compileLimit({ limit: 10_000, window: '1s', ...options })
}

export function sampled(limit: Limit, cost = 1, key = 'k'): Charge {
  return { key, limit, cost, enforce: true, policy: { consistency: 'sampled', onStoreFailure: 'local', localShare: 1 } }
}

/** Sampled stores on one clock, which a book adds up. They report at different moments, as processes do. */
export class Fleet {
  nowMs = START_MS
  readonly random: () => number
  readonly book = new RateBook(() => this.nowMs)
  readonly parent: LendingMemoryStore
  readonly nodes: { readonly store: SampledStore; readonly atMs: number; isUp: boolean }[] = []
  readonly #clock = { nowMs: () => this.nowMs }

  constructor(nodes: number, seed = 1) {
    this.random = seededRandom(seed)
    this.parent = new LendingMemoryStore({ clock: this.#clock })
    for (let i = 0; i < nodes; i++) this.add()
  }

  add(maxKeys = 1_000): SampledStore {
    const options = { clock: this.#clock, random: this.random, isTimed: false, maxKeys }
    const store = new SampledStore(this.parent, this.book, options)
    const atMs = STEP_MS * Math.floor((REPORT_MS / STEP_MS) * this.random())
    this.nodes.push({ store, atMs, isUp: true })
    return store
  }

  /** Asks one node once. */
  isAdmitted(node: number, charge: Charge): boolean {
    const [verdict] = this.nodes[node].store.decide([charge]) as readonly { allowed: boolean }[]
    return verdict.allowed
  }

  /** Lets time pass, and has each node get its rate of hits a second, at random moments. Returns what each admitted. */
  run(ms: number, ratesPerSecond: readonly number[], charge: Charge): number[] {
    const admitted = this.nodes.map(() => 0)
    for (const until = this.nowMs + ms; this.nowMs < until; this.#step()) {
      ratesPerSecond.forEach((rate, node) => {
        if (!this.nodes[node].isUp) return
        const hits = this.#poisson((rate * STEP_MS) / 1_000)
        for (let i = 0; i < hits; i++) if (this.isAdmitted(node, charge)) admitted[node]++
      })
    }
    return admitted
  }

  /** Lets time pass without hits. */
  pass(ms: number): void {
    this.run(ms, [], sampled(limitOf()))
  }

  #step(): void {
    this.nowMs += STEP_MS
    for (const { store, atMs, isUp } of this.nodes) if (isUp && (this.nowMs - atMs) % REPORT_MS === 0) store.tick()
  }

  /** Draws how many hits come when this many are expected: as many as times between them fit. */
  #poisson(mean: number): number {
    let hits = -1
    let left = mean
    while (left > 0) {
      left += Math.log(1 - this.random())
      hits++
    }
    return Math.max(0, hits)
  }
}
