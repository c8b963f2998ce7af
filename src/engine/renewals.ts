import { andThen } from './maybe.ts'
import type { HeldPermits, MaybePromise, Renewal, Store } from './ports.ts'
import { RenewalLane } from './renewal-lane.ts'

/** Receives the outcome of renewed permits, in batches. */
export interface RenewalEvents {
  renewed(renewal: Renewal, count: number): void
}

type Renewing = Pick<Store, 'renew' | 'release'>

/** The most permits that a store is asked to renew in one batch. Other requests are answered between batches. */
const MAX_BATCH = 128

/**
 * Renews permits of `concurrency` limits for as long as their requests run: without it they expire after their lease,
 * which exists for holders that crashed. All permits of a process share one timer, no matter how many there are. A
 * request that is shorter than a third of that time costs nothing but a list entry. What a store does not
 * answer is retried at the next turn.
 */
export class Renewals {
  readonly #lanes = new Map<Renewing, Map<number, RenewalLane>>()
  readonly #events: RenewalEvents
  #timer: ReturnType<typeof setTimeout> | undefined
  #ringsAtMs = Number.POSITIVE_INFINITY

  constructor(events: RenewalEvents = { renewed() {} }) {
    this.#events = events
  }

  /**
   * Has permits renewed in a store until letGo. Ends automatically some time after the holder is garbage-collected:
   * permits that can no longer be given back are not held for ever. Permits that hold nothing are not kept.
   */
  keep(store: Renewing, permits: HeldPermits, holder: object): void {
    if (permits.held.length === 0) return
    const ttlMs = ttlOf(permits)
    const lane = this.#lanes.get(store)?.get(ttlMs) ?? this.#begin(store, ttlMs)
    lane.add(permits, holder)
  }

  /** Stops renewing permits. Ignores permits that are not kept. */
  letGo(store: Renewing, permits: HeldPermits): void {
    if (this.#lanes.size === 0) return
    this.#lanes.get(store)?.get(ttlOf(permits))?.delete(permits)
  }

  /** Renews permits once, for holders in other processes. */
  renew(store: Renewing, permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]> {
    return andThen(store.renew(permits), (renewals) => {
      this.#report(renewals)
      return renewals
    })
  }

  /** Stops renewing everything. */
  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#ringsAtMs = Number.POSITIVE_INFINITY
    this.#lanes.clear()
  }

  #begin(store: Renewing, ttlMs: number): RenewalLane {
    const lanes = this.#lanes.get(store) ?? new Map<number, RenewalLane>()
    this.#lanes.set(store, lanes)
    const lane = new RenewalLane(ttlMs, performance.now())
    lanes.set(ttlMs, lane)
    this.#ringAt(lane.nextMs)
    return lane
  }

  #ringAt(atMs: number): void {
    if (atMs >= this.#ringsAtMs) return
    clearTimeout(this.#timer)
    this.#ringsAtMs = atMs
    this.#timer = setTimeout(() => this.#ring(), Math.max(1, atMs - performance.now()))
    // Other runtimes have numbers for timers.
    this.#timer.unref?.()
  }

  #ring(): void {
    this.#ringsAtMs = Number.POSITIVE_INFINITY
    const nowMs = performance.now()
    for (const [store, lanes] of this.#lanes) {
      for (const [ttlMs, lane] of lanes) {
        if (lane.nextMs <= nowMs + 1) void this.#renewDue(store, lane, lane.turn(nowMs))
        if (lane.isEmpty && !lane.isBusy) lanes.delete(ttlMs)
        else this.#ringAt(lane.nextMs)
      }
      if (lanes.size === 0) this.#lanes.delete(store)
    }
  }

  /** Renews in batches, one after the other. It never rejects. */
  async #renewDue(store: Renewing, lane: RenewalLane, due: readonly HeldPermits[]): Promise<void> {
    if (lane.isBusy || due.length === 0) return
    lane.isBusy = true
    for (let from = 0; from < due.length; from += MAX_BATCH) {
      const batch = due.slice(from, from + MAX_BATCH).filter((permits) => lane.has(permits))
      if (batch.length > 0 && !(await this.#renewBatch(store, lane, batch))) break
      if (from + MAX_BATCH < due.length) await nextTurn()
    }
    lane.isBusy = false
  }

  /** Returns whether the store answered. */
  async #renewBatch(store: Renewing, lane: RenewalLane, batch: readonly HeldPermits[]): Promise<boolean> {
    const renewals = await renewed(store, batch)
    batch.forEach((permits, i) => {
      const renewal = renewals[i]
      if (renewal === 'missed') return
      lane.renewed(permits)
      // What ended meanwhile was given back first, where it was taken again.
      if (renewal !== 'held' && !lane.has(permits)) void giveBack(store, permits)
    })
    this.#report(renewals)
    return renewals.some((renewal) => renewal !== 'missed')
  }

  #report(renewals: readonly Renewal[]): void {
    const counts = new Map<Renewal, number>()
    for (const renewal of renewals) counts.set(renewal, (counts.get(renewal) ?? 0) + 1)
    for (const [renewal, count] of counts) this.#events.renewed(renewal, count)
  }
}

/** Shared by all limiters of a process that have no Renewals. */
export const processRenewals = new Renewals()

/** Returns the shortest time of what is held. */
function ttlOf({ held }: HeldPermits): number {
  let ttlMs = Number.POSITIVE_INFINITY
  for (const { limit } of held) ttlMs = Math.min(ttlMs, limit.windowMs)
  return ttlMs
}

async function renewed(store: Renewing, batch: readonly HeldPermits[]): Promise<readonly Renewal[]> {
  try {
    return await store.renew(batch)
  } catch {
    return batch.map(() => 'missed')
  }
}

async function giveBack(store: Renewing, permits: HeldPermits): Promise<void> {
  try {
    await store.release(permits)
  } catch {
    // Their time gives them back.
  }
}

function nextTurn(): Promise<void> {
  // Runtimes that are not Node.js have timers only.
  return new Promise((resolve) => void (globalThis.setImmediate ?? setTimeout)(resolve))
}
