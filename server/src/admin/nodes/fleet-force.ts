import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { hasReached, type InForce, NOTHING_IN_FORCE } from '../../quotas/book/in-force.ts'
import type { Latest, NodeRow, NodeTable } from '../../quotas/tables/node-table.ts'
import type { Confirmation, FleetConfirmations } from '../api/waits.ts'

/** How often a node writes its row, and reads the rows of others while a request waits. */
const BEAT_MS = 1_000
/** A node that has written nothing for this long is waited for no more. */
const AWAY_MS = 15_000
/** Requests that wait at a time. One more is answered with what is known by then. */
export const MAX_WAITING = 32
/** What others wait for, at a time. Beyond that they find it out by the row that is written every second. */
const MAX_WANTED = 64

export interface FleetForceParts {
  readonly table: Pick<NodeTable, 'write' | 'list' | 'latest' | 'ask' | 'listen' | 'remove'>
  /** The database is this node's alone. */
  readonly isAlone: boolean
  readonly name: () => string
  /** Everything that this node counted before is written. */
  readonly usageUntilMs: () => number
}

/**
 * Knows what the nodes on a database decide by, and waits until all of them decide by what is in it. Nodes are asked
 * when a request waits; if notices are lost, the row that each writes every second says it a little later.
 */
export class FleetForce implements FleetConfirmations {
  readonly #parts: FleetForceParts
  readonly #id = randomUUID()
  #own: InForce = NOTHING_IN_FORCE
  #wanted: Latest[] = []
  #waiting = 0
  #news = newsOf()
  #writing: Promise<void> | undefined
  /** Another writing is to follow, as an answer. */
  #isDue = false
  #timer: NodeJS.Timeout | undefined
  #unlisten: (() => void) | undefined

  constructor(parts: FleetForceParts) {
    this.#parts = parts
  }

  /** start begins to write, when the database is open. */
  start(): void {
    const { table, isAlone } = this.#parts
    if (isAlone || this.#timer !== undefined) return
    this.#unlisten = table.listen({ asked: (target) => this.#asked(target), answered: () => this.#announce() })
    this.#timer = setInterval(() => void this.#write(false), BEAT_MS).unref()
    void this.#write(false)
  }

  /** Notes what every process of this node decides by. */
  has(now: InForce): void {
    this.#own = now
    this.#announce()
    this.#answer()
  }

  async wait(withinMs: number): Promise<Confirmation | undefined> {
    const deadline = performance.now() + (this.#waiting < MAX_WAITING ? withinMs : 0)
    this.#waiting++
    try {
      return await this.#confirmed(deadline)
    } catch {
      // The database is unavailable: the state of the nodes is unknown.
      return undefined
    } finally {
      this.#waiting--
    }
  }

  async completeUntilMs(): Promise<number> {
    return Math.min(...(await this.#rows()).map(({ usageUntilMs }) => usageUntilMs))
  }

  /** Lets the others know that this node shuts down. */
  async leave(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#unlisten?.()
    this.#wanted = []
    await this.#writing
    await this.#parts.table.remove(this.#id).catch(() => {})
  }

  async #confirmed(deadline: number): Promise<Confirmation> {
    const { table, isAlone } = this.#parts
    const target = await table.latest()
    if (!isAlone) await table.ask(target)
    for (;;) {
      // News that arrives while the rows are read counts.
      const news = this.#news.arrived
      const confirmation = confirmationOf(await this.#rows(), target)
      const leftMs = deadline - performance.now()
      if (confirmation.waitingFor.length === 0 || leftMs <= 0) return confirmation
      await Promise.race([news, pause(Math.min(leftMs, BEAT_MS), undefined, { ref: false })])
    }
  }

  async #rows(): Promise<readonly NodeRow[]> {
    const { table, isAlone } = this.#parts
    const others = isAlone ? [] : (await table.list()).filter(({ id }) => id !== this.#id)
    return [...others, { ...this.#entry(), silentMs: 0 }]
  }

  #entry() {
    const { name, usageUntilMs } = this.#parts
    return { id: this.#id, name: name(), usageUntilMs: usageUntilMs(), ...this.#own }
  }

  #asked(target: Latest): void {
    if (this.#wanted.length < MAX_WANTED) this.#wanted.push(target)
    this.#answer()
  }

  /** Answers the nodes that wait for what is in force here now. */
  #answer(): void {
    const open = this.#wanted.filter((target) => !hasReached(this.#own, target))
    if (open.length === this.#wanted.length) return
    this.#wanted = open
    void this.#write(true)
  }

  /** Writes the row of this node. It never rejects: an old row shows that the node is silent. */
  #write(isAnswer: boolean): Promise<void> {
    if (this.#writing !== undefined) {
      this.#isDue ||= isAnswer
      return this.#writing
    }
    this.#writing = this.#parts.table
      .write(this.#entry(), isAnswer)
      .catch(() => {})
      .then(() => {
        this.#writing = undefined
        if (!this.#isDue) return
        this.#isDue = false
        return this.#write(true)
      })
    return this.#writing
  }

  #announce(): void {
    const { announce } = this.#news
    this.#news = newsOf()
    announce()
  }
}

function confirmationOf(rows: readonly NodeRow[], target: Latest): Confirmation {
  const live = rows.filter(({ silentMs }) => silentMs <= AWAY_MS)
  const waitingFor = live.filter((row) => !hasReached(row, target))
  return {
    nodes: live.length,
    confirmed: live.length - waitingFor.length,
    waitingFor: waitingFor.map(({ name }) => name),
    away: rows.filter((row) => !live.includes(row)).map(({ name }) => name),
  }
}

/** Makes a promise, and the function that resolves it. */
function newsOf(): { readonly arrived: Promise<void>; readonly announce: () => void } {
  let announce = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    announce = resolve
  })
  return { arrived, announce }
}
