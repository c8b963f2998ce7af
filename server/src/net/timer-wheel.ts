import type { Clock } from './clock.ts'

const TICK_MS = 10
const SLOTS = 512

/** A place in a TimerWheel. */
export class Timer {
  readonly run: () => void
  /** The tick of the wheel after which it is due, or −1 when it is in no wheel. */
  tick = -1
  previous: Timer | undefined
  next: Timer | undefined

  constructor(run: () => void) {
    this.run = run
  }
}

/**
 * Runs many timers on one of the clock's. Setting and clearing one moves a link in a list. Timers run up to 10 ms late,
 * never early; an empty wheel runs nothing.
 */
export class TimerWheel {
  readonly #clock: Clock
  readonly #slots: (Timer | undefined)[] = new Array(SLOTS).fill(undefined)
  #count = 0
  /** The last tick whose slot was emptied. */
  #turned: number
  #armedTick = Number.POSITIVE_INFINITY
  #disarm: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#turned = Math.floor(clock.nowMs() / TICK_MS)
  }

  set(timer: Timer, dueMs: number): void {
    if (timer.tick >= 0) this.clear(timer)
    if (this.#count === 0) this.#turned = Math.floor(this.#clock.nowMs() / TICK_MS)
    const tick = Math.max(Math.ceil(dueMs / TICK_MS), this.#turned + 1)
    const slot = tick % SLOTS
    const first = this.#slots[slot]
    timer.tick = tick
    timer.next = first
    if (first !== undefined) first.previous = timer
    this.#slots[slot] = timer
    this.#count++
    if (tick < this.#armedTick) this.#arm(tick)
  }

  clear(timer: Timer): void {
    if (timer.tick < 0) return
    const { previous, next } = timer
    if (previous !== undefined) previous.next = next
    else this.#slots[timer.tick % SLOTS] = next
    if (next !== undefined) next.previous = previous
    timer.tick = -1
    timer.previous = undefined
    timer.next = undefined
    this.#count--
  }

  #arm(tick: number): void {
    this.#disarm?.()
    this.#armedTick = tick
    const delayMs = Math.max(tick * TICK_MS - this.#clock.nowMs(), 0)
    // At most one round: Node.js timers fire immediately beyond 24.8 days, and clients choose their deadlines.
    this.#disarm = this.#clock.after(Math.min(delayMs, SLOTS * TICK_MS), this.#turn)
  }

  readonly #turn = (): void => {
    this.#disarm = undefined
    // Nothing arms the clock while timers run: afterwards, one look finds the earliest of all.
    this.#armedTick = Number.NEGATIVE_INFINITY
    const now = Math.floor(this.#clock.nowMs() / TICK_MS)
    const due: Timer[] = []
    // One round visits every slot, however long the wheel stood still.
    const from = Math.max(this.#turned + 1, now - SLOTS + 1)
    for (let tick = from; tick <= now; tick++) this.#collect(tick % SLOTS, now, due)
    this.#turned = Math.max(this.#turned, now)
    for (const timer of due) {
      // A timer that ran before may have cleared or set this one.
      if (timer.tick < 0 || timer.tick > now) continue
      this.clear(timer)
      timer.run()
    }
    this.#armNext()
  }

  #collect(slot: number, now: number, due: Timer[]): void {
    for (let timer = this.#slots[slot]; timer !== undefined; timer = timer.next) if (timer.tick <= now) due.push(timer)
  }

  /** Aims at the next slot with a timer in it, which may be one of a later round. */
  #armNext(): void {
    this.#armedTick = Number.POSITIVE_INFINITY
    if (this.#count === 0) return
    for (let tick = this.#turned + 1; tick <= this.#turned + SLOTS; tick++) {
      if (this.#slots[tick % SLOTS] === undefined) continue
      this.#arm(tick)
      return
    }
  }
}
