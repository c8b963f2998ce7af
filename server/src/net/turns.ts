/**
 * A Task does its work when it is its turn, and returns how many units it was: 0 where there was nothing left to do.
 */
export type Task = () => number

/** What a task costs that has nothing to do: looking at a great many of them is work too. */
const LOOK_UNITS = 1 / 32
/** Places in front of a queue that are given up together. */
const COMPACT_AFTER = 64

/** First in, first out. */
class Queue<T> {
  #items: (T | undefined)[] = []
  #first = 0

  get size(): number {
    return this.#items.length - this.#first
  }

  push(item: T): void {
    this.#items.push(item)
  }

  take(): T | undefined {
    const item = this.#items[this.#first]
    if (item === undefined) return undefined
    this.#items[this.#first++] = undefined
    if (this.#first >= COMPACT_AFTER && 2 * this.#first >= this.#items.length) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return item
  }
}

/** What waits for one network, in its order. */
export class Lane extends Queue<Task> {}

/**
 * Spreads work over turns of the event loop, so that other clients are read from in between: a fixed number of units
 * per turn, taken from the lanes in rotation. A network that sends a thousand tasks at the same time delays mostly
 * itself.
 */
export class Turns {
  readonly #perTurn: number
  readonly #schedule: (run: () => void) => void
  /** The lanes with tasks, the next first. */
  readonly #lanes = new Queue<Lane>()
  #isScheduled = false
  #most = 0

  constructor(perTurn: number, schedule: (run: () => void) => void = setImmediate) {
    this.#perTurn = perTurn
    this.#schedule = schedule
  }

  /** Returns the most units of any turn so far. */
  get most(): number {
    return this.#most
  }

  /** Runs a task in a later turn. */
  add(lane: Lane, task: Task): void {
    lane.push(task)
    if (lane.size === 1) this.#lanes.push(lane)
    this.#plan()
  }

  #plan(): void {
    if (this.#isScheduled || this.#lanes.size === 0) return
    this.#isScheduled = true
    this.#schedule(this.#run)
  }

  readonly #run = (): void => {
    this.#isScheduled = false
    let units = 0
    try {
      while (units < this.#perTurn) {
        const lane = this.#lanes.take()
        const task = lane?.take()
        if (lane === undefined || task === undefined) break
        if (lane.size > 0) this.#lanes.push(lane)
        units += Math.max(task(), LOOK_UNITS)
      }
    } finally {
      this.#most = Math.max(this.#most, units)
      this.#plan()
    }
  }
}
