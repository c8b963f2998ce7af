import type { MaybePromise } from '../../engine/ports.ts'
import { CounterStore, type CounterStoreOptions } from './counter-store.ts'
import type { Hits } from './hit-store.ts'

const MAX_TIMER_MS = 2 ** 31 - 1
/** After this many windows without a hit, nothing is worth keeping, for every algorithm. */
const IDLE_LOOKS = 2

/**
 * Counts hits in this process, as a replacement for express-rate-limit's MemoryStore. Holds at most a million keys of
 * 41 bytes each, and frees its memory after two windows without a hit.
 */
export class MemoryStore extends CounterStore {
  /** Checks once per window for hits. */
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
    try {
      this.interval = setInterval(() => this.#look(), Math.min(Math.max(options.windowMs, 1_000), MAX_TIMER_MS))
      // Elsewhere than in Node.js, a timer is a number.
      this.interval.unref?.()
    } catch {
      // Cloudflare Workers have no timers while modules load. What they keep ends with the isolate.
      this.interval = undefined
    }
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
