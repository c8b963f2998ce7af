import { ADAPTIVE, AdaptiveConcurrency } from 'sluice/internal/core/shedding/adaptive-concurrency'
import { DEFAULT_PRIORITY, type Priority } from 'sluice/internal/core/shedding/priority'
import type { Clock } from '../../../net/clock.ts'
import { Timer, type TimerWheel } from '../../../net/timer-wheel.ts'
import type { UpstreamShedding } from '../gateway-options.ts'
import type { CarrierListener, Pool } from '../sides.ts'
import { type SlotKeeper, UpstreamSlot } from '../upstream-slot.ts'

export interface PlaceBounds {
  readonly min: number
  readonly max: number
  /** It is `max` until the first answers have shown how long they take. Default: false. */
  readonly startsOpen?: boolean
  /** Critical requests that may wait for a place. */
  readonly maxWaiting: number
}

export interface LimitedPoolKit {
  readonly clock: Clock
  readonly wheel: TimerWheel
  readonly shedding: UpstreamShedding
}

/** How long a request of each priority waits for a place: what is critical, and the others in a burst. */
const WAIT_MS: readonly number[] = [1_000, 100, 100, 100]
/** For this long after a refusal it is not a burst: requests that are not critical are refused immediately. */
const BURST_AFTER_MS = 1_000
/** A request whose body takes longer to come holds no place. */
const UPLOAD_MS = 1_000
const PRIORITIES: readonly Priority[] = [0, 1, 2, 3]

/**
 * Lets as many concurrent requests reach an address as it can serve, by AdaptiveConcurrency. More important ones go
 * first: they find room where others do not, and waiting ones are served in the order of their priority.
 */
export class LimitedPool implements Pool, SlotKeeper {
  readonly adaptive: AdaptiveConcurrency
  readonly #pool: Pool
  readonly #kit: LimitedPoolKit
  readonly #maxWaiting: number
  readonly #waiting = PRIORITIES.map(() => new Map<CarrierListener, number>())
  readonly #unsent = new Set<UpstreamSlot>()
  readonly #sweeper = new Timer(() => this.#sweep())
  #refusedMs = Number.NEGATIVE_INFINITY

  constructor(pool: Pool, { min, max, maxWaiting, startsOpen = false }: PlaceBounds, kit: LimitedPoolKit) {
    const initial = Math.max(min, Math.min(max, ADAPTIVE.initial))
    this.adaptive = new AdaptiveConcurrency({ ...ADAPTIVE, initial, min, max, startsOpen })
    this.#pool = pool
    this.#kit = kit
    this.#maxWaiting = maxWaiting
  }

  get connections(): number {
    return this.#pool.connections
  }

  get speaksHttp2(): boolean {
    return this.#pool.speaksHttp2
  }

  get waiting(): number {
    return this.#waiting.reduce((sum, { size }) => sum + size, 0)
  }

  hasRoom(priority: Priority): boolean {
    this.#takeBack()
    return this.adaptive.hasRoom(priority)
  }

  /** Returns whether a request would be served, or wait. */
  takes(priority: Priority): boolean {
    return this.hasRoom(priority) || this.#mayWait(priority)
  }

  /** Says that a request was not taken. */
  refused(): void {
    this.#refusedMs = this.nowMs()
  }

  connect(listener: CarrierListener): void {
    const { priority = DEFAULT_PRIORITY } = listener
    if (!this.#kit.shedding.isOn()) {
      this.adaptive.add()
      this.#start(listener)
    } else if (this.#isNext(priority) && this.hasRoom(priority)) {
      this.adaptive.add()
      this.#start(listener)
    } else if (this.#mayWait(priority)) this.#wait(listener, priority)
    else this.#refuse(listener, priority)
  }

  forget(listener: CarrierListener): void {
    if (!this.#waiting.some((list) => list.delete(listener))) this.#pool.forget(listener)
  }

  /** Refuses a listener that waits for a place: true, if it did. */
  giveUp(listener: CarrierListener): boolean {
    const priority = PRIORITIES.find((each) => this.#waiting[each]?.delete(listener))
    if (priority === undefined) return false
    this.#refuse(listener, priority)
    return true
  }

  retire(): void {
    this.#pool.retire()
  }

  destroy(): void {
    this.#kit.wheel.clear(this.#sweeper)
    this.#pool.destroy()
  }

  nowMs(): number {
    return this.#kit.clock.nowMs()
  }

  sent(place: UpstreamSlot): number {
    this.#unsent.delete(place)
    return this.nowMs()
  }

  ended(place: UpstreamSlot): void {
    this.#unsent.delete(place)
    this.#serve()
  }

  #start(listener: CarrierListener): void {
    const place = new UpstreamSlot(this, this.nowMs())
    this.#unsent.add(place)
    listener.place = place
    this.#pool.connect(listener)
  }

  /** Whether no request of the same or a higher importance waits. */
  #isNext(priority: Priority): boolean {
    for (let p = 0; p <= priority; p++) if ((this.#waiting[p]?.size ?? 0) > 0) return false
    return true
  }

  /** Takes slots back whose requests are slow to come, so that slow senders keep no other out. */
  #takeBack(): void {
    const nowMs = this.nowMs()
    for (const place of this.#unsent) {
      if (nowMs - place.takenMs < UPLOAD_MS) return
      place.takeBack(nowMs)
      this.#unsent.delete(place)
    }
  }

  #mayWait(priority: Priority): boolean {
    if (priority === 0) return this.waiting < this.#maxWaiting
    return this.waiting < this.adaptive.limit && this.nowMs() - this.#refusedMs > BURST_AFTER_MS
  }

  #wait(listener: CarrierListener, priority: Priority): void {
    const dueMs = this.nowMs() + (WAIT_MS[priority] as number)
    this.#waiting[priority]?.set(listener, dueMs)
    this.#watch()
  }

  #serve(): void {
    for (const priority of PRIORITIES) {
      const list = this.#waiting[priority] as Map<CarrierListener, number>
      for (const listener of list.keys()) {
        if (!this.adaptive.begin(priority)) return
        list.delete(listener)
        this.#start(listener)
      }
    }
  }

  #refuse(listener: CarrierListener, priority: Priority): void {
    this.refused()
    this.#kit.shedding.shed(priority)
    listener.unreachable('shed', 'the upstream has as many requests as it can take')
  }

  #watch(): void {
    let nextMs = Number.POSITIVE_INFINITY
    for (const list of this.#waiting)
      for (const dueMs of list.values()) {
        nextMs = Math.min(nextMs, dueMs)
        break
      }
    if (nextMs < Number.POSITIVE_INFINITY) this.#kit.wheel.set(this.#sweeper, nextMs)
  }

  /** Refuses requests that have waited long enough. Of one priority, the first is the first that is due. */
  #sweep(): void {
    const nowMs = this.nowMs()
    this.#takeBack()
    this.#serve()
    for (const priority of PRIORITIES) {
      const list = this.#waiting[priority] as Map<CarrierListener, number>
      for (const [listener, dueMs] of list) {
        if (dueMs > nowMs) break
        list.delete(listener)
        this.#refuse(listener, priority)
      }
    }
    this.#watch()
  }
}
