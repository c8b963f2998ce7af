import type { Cost } from './pacer.ts'

/** What a WaitingList has to know of those who wait in it. */
export interface Waiting {
  readonly cost: Cost
  /** Higher goes first. */
  readonly priority: number
  /** Who was first: lower goes first among those of one priority. */
  readonly order: number
}

/** Every so many turns, the one who was first goes, whatever the priority: nobody waits for ever. */
const FAIR_TURN = 8

/** A WaitingList says who is next. What it costs does not grow with how many wait, except for those who leave out of turn. */
export class WaitingList<W extends Waiting> {
  /** By priority, the highest first. */
  #queues: Queue<W>[] = []
  #turn = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(waiter: W): void {
    const { priority } = waiter
    let queue = this.#queues.find((each) => each.priority === priority)
    if (queue === undefined) {
      queue = { priority, waiters: [], cost: {} }
      this.#queues.push(queue)
      this.#queues.sort((a, b) => b.priority - a.priority)
    }
    let at = queue.waiters.length
    // Only who has waited before comes out of order.
    while (at > 0 && queue.waiters[at - 1].order > waiter.order) at--
    queue.waiters.splice(at, 0, waiter)
    addCost(queue.cost, waiter.cost, 1)
    this.#size++
  }

  /** next is who goes next: the first of the highest priority, and now and then the first of all. */
  next(): W | undefined {
    if (this.#turn % FAIR_TURN !== FAIR_TURN - 1) return this.#queues[0]?.waiters[0]
    let next: W | undefined
    for (const { waiters } of this.#queues) if (next === undefined || waiters[0].order < next.order) next = waiters[0]
    return next
  }

  /** took says that the next one went. */
  took(waiter: W): void {
    this.#turn++
    this.remove(waiter)
  }

  remove(waiter: W): void {
    const queue = this.#queues.find(({ priority }) => priority === waiter.priority)
    const at = queue?.waiters.indexOf(waiter) ?? -1
    if (queue === undefined || at < 0) return
    queue.waiters.splice(at, 1)
    addCost(queue.cost, waiter.cost, -1)
    this.#size--
    if (queue.waiters.length === 0) this.#queues = this.#queues.filter((each) => each !== queue)
  }

  /** costWith is what somebody costs together with all who go before them. */
  costWith({ cost, priority }: Pick<Waiting, 'cost' | 'priority'>): Cost {
    const sum: Record<string, number> = {}
    for (const queue of this.#queues) if (queue.priority >= priority) addCost(sum, queue.cost, 1)
    addCost(sum, cost, 1)
    return sum
  }

  *[Symbol.iterator](): Generator<W> {
    for (const { waiters } of this.#queues) yield* [...waiters]
  }
}

interface Queue<W> {
  readonly priority: number
  /** In their order. */
  readonly waiters: W[]
  readonly cost: Record<string, number>
}

function addCost(sum: Record<string, number>, cost: Cost, sign: number): void {
  for (const [unit, amount] of Object.entries({ requests: 1, ...cost })) sum[unit] = (sum[unit] ?? 0) + sign * amount
}
