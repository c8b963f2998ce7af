import type { Observer } from '../../engine/observer.ts'
import type { StoreEvents } from './opened-store.ts'

/** Reports on one Redis to the observers of all limits that use it: once to each, however many limits it observes. */
export class StoreWatch {
  readonly #limits = new Map<Observer, number>()
  readonly #deadlines = new Map<string, number>()

  /** What the store reports. */
  readonly events: StoreEvents = {
    deadlineChanged: (shard, timeoutMs) => {
      this.#deadlines.set(shard, timeoutMs)
      for (const observer of this.#limits.keys()) observer.deadlineChanged?.(shard, timeoutMs)
    },
    fellBack: (mode, reason, shard) => {
      for (const observer of this.#limits.keys()) observer.fellBack?.(mode, reason, shard)
    },
  }

  /** Adds the observer of a limit, which receives the current deadlines first. The function returned removes it. */
  add(observer: Observer | undefined): () => void {
    if (observer === undefined) return () => {}
    const limits = this.#limits.get(observer) ?? 0
    this.#limits.set(observer, limits + 1)
    if (limits === 0) for (const [shard, timeoutMs] of this.#deadlines) observer.deadlineChanged?.(shard, timeoutMs)
    return () => {
      const others = (this.#limits.get(observer) ?? 1) - 1
      if (others === 0) this.#limits.delete(observer)
      else this.#limits.set(observer, others)
    }
  }
}
