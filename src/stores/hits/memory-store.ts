import type { MaybePromise } from '../../engine/ports.ts'
import { CounterStore, type CounterStoreOptions } from './counter-store.ts'
import type { Hits } from './hit-store.ts'

const MAX_TIMER_MS = 2 ** 31 - 1
/** After so many windows without a hit, nothing is left to remember, whatever the algorithm. */
const IDLE_LOOKS = 2

/**
 * MemoryStore counts hits in this process, as express-rate-limit's MemoryStore does: it takes its place. It holds a
 * million keys at the most, 41 bytes each, and gives its memory back after two windows in which nobody came.
 */
export class MemoryStore extends CounterStore {
  /** Looks once a window whether anybody came. */
  interval: NodeJS.Timeout | undefined
  #idleLooks = 0

  constructor(options: Pick<CounterStoreOptions, 'maxKeys' | 'algorithm' | 'clock'> = {}) {
    const { maxKeys, algorithm, clock } = options
    super({
      prefix: '',
      ...(maxKeys !== undefined && { maxKeys }),
      ...(algorithm !== undefined && { algorithm }),
      ...(clock !== undefined && { clock }),
    })
  }

  override init(options: { readonly windowMs: number; readonly limit?: unknown }): void {
    super.init(options)
    clearInterval(this.interval)
    this.interval = setInterval(() => this.#look(), Math.min(Math.max(options.windowMs, 1_000), MAX_TIMER_MS))
    // Elsewhere than in Node.js, a timer is a number.
    this.interval.unref?.()
  }

  override add(key: string, hits: number): MaybePromise<Hits> {
    this.#idleLooks = 0
    return super.add(key, hits)
  }

  override shutdown(): void {
    clearInterval(this.interval)
    this.resetAll()
  }

  #look(): void {
    if (this.#idleLooks === IDLE_LOOKS) this.resetAll()
    this.#idleLooks++
  }
}
