import type { Operation } from '../core/account-state.ts'
import type { LedgerAnswer } from '../ledger-batch.ts'
import type { LedgerPort } from './ledger-port.ts'

/** A LateJob is an operation of a request that has been answered. */
export interface LateJob {
  readonly customer: string
  readonly meter: string
  readonly operation: Operation
}

export interface LateJobsEvents {
  /** Too many wait for a ledger that does not answer: one was given up. */
  dropped(job: LateJob): void
}

const MOST = 50_000
const AGAIN_MS = 1_000
/** How many are asked again at the same time. */
const AT_ONCE = 500
/** How long the end of the process waits for the ledger. */
const CLOSE_MS = 1_000

/**
 * LateJobs books what must be booked although no one waits for it: what requests came to, and what must be undone. What
 * the ledger does not take is asked again, in order, until it does. Every operation has an id, so that one which was
 * done unnoticed is not done twice.
 */
export class LateJobs {
  readonly #ledger: LedgerPort
  readonly #events: LateJobsEvents
  readonly #inFlight = new Set<Promise<unknown>>()
  #waiting: LateJob[] = []
  /** How many wait of each account: what comes later waits behind them. */
  readonly #waitingOf = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(ledger: LedgerPort, events: LateJobsEvents) {
    this.#ledger = ledger
    this.#events = events
  }

  /** How many wait for a ledger that does not answer. */
  get size(): number {
    return this.#waiting.length
  }

  /** Does a job now. Undefined: the ledger does not answer, and it is asked again later. */
  async do(job: LateJob): Promise<LedgerAnswer | undefined> {
    if (this.#waitingOf.has(accountOf(job))) {
      this.#wait(job)
      return undefined
    }
    const asked = this.#ask(job)
    this.#inFlight.add(asked)
    const answer = await asked
    this.#inFlight.delete(asked)
    return answer
  }

  /** Resolves when what can be done now is done. What is left then is lost: its holds expire. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await inTime(Promise.all(this.#inFlight))
    const left = this.#take()
    await inTime(Promise.all(left.map((job) => this.#ask(job))))
    for (const job of this.#waiting) this.#events.dropped(job)
  }

  async #ask(job: LateJob): Promise<LedgerAnswer | undefined> {
    try {
      return await this.#ledger.ask(job.customer, job.meter, job.operation)
    } catch {
      this.#wait(job)
      return undefined
    }
  }

  #wait(job: LateJob): void {
    if (this.#waiting.length >= MOST) {
      const first = this.#waiting.shift()!
      this.#count(first, -1)
      this.#events.dropped(first)
    }
    this.#waiting.push(job)
    this.#count(job, 1)
    if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#again(), AGAIN_MS).unref()
  }

  #take(): LateJob[] {
    this.#waitingOf.clear()
    return this.#waiting.splice(0)
  }

  #count(job: LateJob, by: 1 | -1): void {
    const account = accountOf(job)
    const count = (this.#waitingOf.get(account) ?? 0) + by
    if (count > 0) this.#waitingOf.set(account, count)
    else this.#waitingOf.delete(account)
  }

  async #again(): Promise<void> {
    const jobs = this.#take()
    for (let i = 0; i < jobs.length; i += AT_ONCE) {
      const some = jobs.slice(i, i + AT_ONCE)
      const before = this.#waiting.length
      await Promise.all(some.map((job) => this.do(job)))
      // Where none was taken, the others would not be either.
      if (this.#waiting.length - before >= some.length) {
        for (const job of jobs.slice(i + AT_ONCE)) this.#wait(job)
        break
      }
    }
    this.#timer = undefined
    if (this.#waiting.length > 0 && !this.#isClosed) {
      this.#timer = setTimeout(() => void this.#again(), AGAIN_MS).unref()
    }
  }
}

function inTime(work: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS)
  })
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}

const accountOf = ({ customer, meter }: LateJob): string => `${customer}\n${meter}`
