import { runAfter } from 'sluice/internal/http-door/long-wait'
import type { After, Ticket } from './turns.ts'

/** How many requests are held back at the same time, and for how long. */
export interface RoomBounds {
  readonly requests: number
  readonly perCaller: number
  readonly longestMs: number
}

export const DEFAULT_ROOM: RoomBounds = Object.freeze({ requests: 1_000, perCaller: 100, longestMs: 30_000 })

/** How a wait ended, or why there was none: no room at all, or for this caller; or it would take too long. */
export type Waited = 'over' | 'left' | 'full' | 'caller-full' | 'too-long'

/** What a request waits for: a time, and its turns in queues. */
export interface Wait {
  readonly ms: number
  readonly tickets: readonly Ticket[]
}

const NOTHING = (): void => {}

/**
 * Holds requests back for a while. Bounded in total and for each caller, so that a caller that sends too much does not
 * take the room of others.
 */
export class WaitingRoom {
  readonly #after: After
  readonly #held = new Map<string, number>()
  #count = 0

  constructor(after: After = runAfter) {
    this.#after = after
  }

  get size(): number {
    return this.#count
  }

  /** Returns why a request cannot wait; undefined where it can. */
  refusalOf(caller: string, ms: number, bounds: RoomBounds): Exclude<Waited, 'over' | 'left'> | undefined {
    if (ms > bounds.longestMs) return 'too-long'
    if ((this.#held.get(caller) ?? 0) >= bounds.perCaller) return 'caller-full'
    return this.#count >= bounds.requests ? 'full' : undefined
  }

  /**
   * Resolves after a while and when all turns have come, or immediately when the client leaves: `onLeave` takes what is
   * to run then.
   */
  wait(caller: string, { ms, tickets }: Wait, onLeave: (run: () => void) => void): Promise<'over' | 'left'> {
    this.#count++
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + 1)
    return new Promise((resolve) => {
      let isOver = false
      let pending = tickets.length + (ms > 0 ? 1 : 0)
      const end = (how: 'over' | 'left'): void => {
        if (isOver) return
        isOver = true
        cancel()
        if (how === 'left') for (const ticket of tickets) ticket.leave()
        this.#leave(caller)
        resolve(how)
      }
      const passed = (): void => {
        if (--pending === 0) end('over')
      }
      const cancel = ms > 0 ? this.#after(ms, passed) : NOTHING
      for (const ticket of tickets) ticket.onDue(passed)
      onLeave(() => end('left'))
    })
  }

  #leave(caller: string): void {
    this.#count--
    const left = (this.#held.get(caller) ?? 1) - 1
    if (left === 0) this.#held.delete(caller)
    else this.#held.set(caller, left)
  }
}
