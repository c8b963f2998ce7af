import { runAfter } from 'sluice/internal/http-door/long-wait'

/** Runs something later, and returns what calls it off. */
export type After = (ms: number, run: () => void) => () => void

/** Turns that no request waits for, of all queues together. With more, abandoned turns stay empty. */
const MAX_SPARE = 10_000

interface Queue {
  readonly name: string
  /** The moments at which one request each may go, the next one first. */
  readonly turns: number[]
  /** In the order in which they came. There are never more than turns. */
  readonly waiting: Set<Ticket>
  /** Calls the timer off that rings at the first turn. */
  cancel: () => void
}

/** The place of a request in a queue. */
export class Ticket {
  readonly #leave: (ticket: Ticket) => void
  /** How long it takes at most: less when requests before it leave. */
  readonly waitMs: number
  #isDue = false
  #due: (() => void) | undefined

  constructor(waitMs: number, leave: (ticket: Ticket) => void) {
    this.waitMs = waitMs
    this.#leave = leave
  }

  /** Calls back when it is the request's turn: immediately where it is already. */
  onDue(run: () => void): void {
    if (this.#isDue) run()
    else this.#due = run
  }

  /** Says that it is its turn. */
  call(): void {
    this.#isDue = true
    this.#due?.()
  }

  /** Gives the place to the requests behind it. */
  leave(): void {
    if (!this.#isDue) this.#leave(this)
  }
}

/**
 * The requests of this process that wait in the queues of leaky buckets. A store knows the last turn of a queue and no
 * other, so that none can be given back to it: a turn belongs to the process that has taken it. When a request leaves,
 * those behind it move up, and the last turn is for the next request that comes, which takes none of the store then. A
 * turn that no request waits for stays empty. So requests never go closer together than the store has placed their
 * turns, and never are more waiting than it has turns for.
 */
export class Turns {
  readonly #after: After
  readonly #nowMs: () => number
  readonly #maxSpare: number
  readonly #queues = new Map<string, Queue>()
  #spare = 0

  constructor(after: After = runAfter, nowMs: () => number = () => performance.now(), maxSpare = MAX_SPARE) {
    this.#after = after
    this.#nowMs = nowMs
    this.#maxSpare = maxSpare
  }

  /** How many queues have turns that are still to come. */
  get queues(): number {
    return this.#queues.size
  }

  /** Waits for a turn that is spare; undefined where a queue has none. */
  take(name: string): Ticket | undefined {
    const queue = this.#queues.get(name)
    const turnMs = queue?.turns[queue.waiting.size]
    if (queue === undefined || turnMs === undefined || turnMs <= this.#nowMs()) return undefined
    this.#spare--
    return this.#join(queue)
  }

  /** Waits for one more turn, which a store has given, or for one before it. */
  add(name: string, waitMs: number): Ticket {
    const queue = this.#queues.get(name) ?? this.#open(name)
    const { turns } = queue
    const turnMs = this.#nowMs() + waitMs
    let at = turns.length
    while (at > 0 && (turns[at - 1] as number) > turnMs) at--
    turns.splice(at, 0, turnMs)
    if (at === 0) this.#arm(queue)
    return this.#join(queue)
  }

  #open(name: string): Queue {
    const queue: Queue = { name, turns: [], waiting: new Set(), cancel: () => {} }
    this.#queues.set(name, queue)
    return queue
  }

  #join(queue: Queue): Ticket {
    const { turns, waiting } = queue
    const waitMs = Math.max(0, (turns[waiting.size] as number) - this.#nowMs())
    const ticket = new Ticket(waitMs, (left) => this.#leave(queue, left))
    waiting.add(ticket)
    return ticket
  }

  #leave(queue: Queue, ticket: Ticket): void {
    if (!queue.waiting.delete(ticket)) return
    if (this.#spare < this.#maxSpare) {
      this.#spare++
      return
    }
    queue.turns.pop()
    if (queue.turns.length === 0) this.#close(queue)
  }

  #arm(queue: Queue): void {
    queue.cancel()
    const waitMs = (queue.turns[0] as number) - this.#nowMs()
    queue.cancel = this.#after(Math.max(0, Math.ceil(waitMs)), () => this.#ring(queue))
  }

  /** Has requests go whose turns have come. */
  #ring(queue: Queue): void {
    const { turns, waiting } = queue
    const nowMs = this.#nowMs()
    const called: Ticket[] = []
    while (turns.length > 0 && (turns[0] as number) <= nowMs) {
      turns.shift()
      const [first] = waiting
      if (first === undefined) this.#spare--
      else {
        waiting.delete(first)
        called.push(first)
      }
    }
    if (turns.length === 0) this.#close(queue)
    else this.#arm(queue)
    for (const ticket of called) ticket.call()
  }

  #close(queue: Queue): void {
    queue.cancel()
    this.#queues.delete(queue.name)
  }
}
