import { Outcome } from '../../core/algorithms/outcome.ts'
import type { Clock } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import { storedKey } from '../../core/keys.ts'
import { holdsPermits, type Limit } from '../../core/limit.ts'
import {
  type Acquired,
  type Charge,
  type HeldPermits,
  isRefused,
  type LendingStore,
  type Notice,
  type NoticeListener,
  type Renewal,
  type SliceReply,
  type SliceRequest,
} from '../../engine/ports.ts'
import { NoticeBoard } from '../lending/notice-board.ts'
import { SliceBook } from '../lending/slice-book.ts'
import { AdaptiveDeadlines, DEADLINE_RANGE, type DeadlineRange } from '../redis/batch/adaptive-deadline.ts'
import { RenewalResults, renewalsByCounter } from '../renewing/counter-renewals.ts'
import { monotonicMs } from '../system-clock.ts'
import type { AttemptHost } from './attempt.ts'
import type { CasEngine } from './cas-engine.ts'
import { type CasJob, jobOn, madeIn } from './cas-job.ts'
import type { Counter } from './counter.ts'
import { type DecidedGroup, decideGroup } from './decide-group.ts'
import { type CasEvents, Flights } from './flights.ts'
import { PendingResults, releaseIn, renewIn } from './held-permits.ts'
import { ServerClock } from './server-clock.ts'

export type { CasEvents } from './flights.ts'

export interface CasStoreOptions {
  /** How long a decision may take where its rule does not say. Default: learned, as for Redis. */
  readonly timeoutMs?: number | undefined
  /** Within what it is learned. Default: 5 to 100 ms. */
  readonly deadlines?: DeadlineRange
  readonly events?: CasEvents & { deadlineChanged?(shard: string, timeoutMs: number): void }
  /** For tests: the time, in place of the engine's. */
  readonly clock?: Clock
  /** For tests: the name of this node in its writes. Default: random. */
  readonly node?: string
}

/** The first decision waits for as long as that for the first connection, and for a table that has to be made. */
const FIRST_TIMEOUT_MS = 2_000
/** Giving back, renewing and forgetting may take longer than deciding. */
const BACKGROUND_TIMEOUT_MS = 1_000

/**
 * Keeps counters in anything that can write what has not changed since it was read. The algorithms run here, on copies
 * of what is stored; a copy that another process was faster to change is dropped, and made again from what is stored by
 * then. Time is the engine's. It lends; there is no channel for notices, so that other nodes hear of a reset or refund
 * when they next ask, within a second.
 */
export class CasStore implements LendingStore {
  readonly #engine: CasEngine
  readonly #flights: Flights
  readonly #timeoutMs: number | undefined
  readonly #learners: AdaptiveDeadlines
  readonly #board = new NoticeBoard(false)
  readonly #clock: Clock
  readonly #serverClock: ServerClock | undefined
  #sampling: Promise<void> | undefined
  #sampleDueAt = 0
  #expireDueAt = 0
  /** Whether the engine has answered, or failed to. */
  #isTried = false

  constructor(engine: CasEngine, options: CasStoreOptions = {}) {
    const { timeoutMs, deadlines = DEADLINE_RANGE, events = {}, clock } = options
    this.#engine = engine
    this.#timeoutMs = timeoutMs
    this.#learners = new AdaptiveDeadlines(deadlines, (shard, ms) => events.deadlineChanged?.(shard, ms))
    this.#serverClock = clock === undefined ? new ServerClock() : undefined
    this.#clock = clock ?? (this.#serverClock as ServerClock)
    let node = options.node
    let writes = 0
    const host: AttemptHost = {
      engine,
      known: new Map(),
      timeKnown: () => this.#timeKnown(),
      nowMs: () => this.#clock.nowMs(),
      // Made with the first call: where modules are loaded, some runtimes have no random numbers.
      get node() {
        node ??= randomText(6)
        return node
      },
      nextWrite: () => ++writes,
    }
    const learned: CasEvents = { ...events, callEnded: (...call) => this.#ended(events, ...call) }
    this.#flights = new Flights(host, learned, monotonicMs)
  }

  /** How long a decision waits where no rule says it. */
  get timeoutMs(): number {
    return this.#timeoutMs ?? this.#learners.of(this.#engine.name).timeoutMs(monotonicMs())
  }

  async decide(charges: readonly Charge[]): Promise<readonly Verdict[]> {
    if (charges.length === 0) return []
    return (await this.#decideGroup(charges, undefined)).verdicts
  }

  async acquire(charges: readonly Charge[]): Promise<Acquired> {
    if (charges.length === 0) return { verdicts: [], permits: undefined }
    const id = randomText(8)
    const { verdicts } = await this.#decideGroup(charges, id)
    if (isRefused(charges, verdicts)) return { verdicts, permits: undefined }
    const held = charges.filter(({ limit, cost }, i) => holdsPermits(limit) && cost > 0 && verdicts[i].allowed)
    return {
      verdicts,
      permits: { id, held: held.map(({ key, limit, cost }) => ({ key, limit, places: cost })), keptAt: -1 },
    }
  }

  async release({ id, held }: HeldPermits): Promise<void> {
    const names = new Set(held.map(({ key, limit }) => storedKey(key, limit)))
    await this.#all([...names].map((name) => jobOn(name, (counter) => releaseIn(counter, String(id)))))
  }

  async renew(permits: readonly HeldPermits[]): Promise<readonly Renewal[]> {
    const results = new RenewalResults(permits.length)
    const jobs = Array.from(renewalsByCounter(permits), ([name, renewals]) =>
      jobOn(name, (counter, nowMs) => {
        const pending = new PendingResults()
        renewIn(counter, renewals, nowMs, pending)
        return pending
      }),
    )
    for (const pending of await this.#all(jobs)) pending.moveTo(results)
    return results.list
  }

  async reset(key: string, limit: Limit): Promise<void> {
    await this.#all([jobOn(storedKey(key, limit), (counter) => counter.clear(), true)])
  }

  exchange(request: SliceRequest): Promise<SliceReply> {
    const { key, limit, timeoutMs } = request
    const job = jobOn(storedKey(key, limit), (counter, nowMs) => exchangeIn(counter, request, nowMs))
    return this.#flights.submit(job, timeoutMs)
  }

  /** Notifies this process alone: there is no channel to others. */
  notify(notice: Notice): void {
    this.#board.notify(notice)
  }

  listen(listener: NoticeListener): () => void {
    return this.#board.listen(listener)
  }

  async close(): Promise<void> {
    await this.#engine.close()
  }

  #decideGroup(charges: readonly Charge[], permit: string | undefined): Promise<DecidedGroup> {
    return this.#flights.submit(this.#groupJob(charges, permit), this.#timeoutOf(charges))
  }

  #groupJob(charges: readonly Charge[], permit: string | undefined): CasJob<DecidedGroup> {
    const names = charges.map(nameOf)
    return {
      names: names.length === 1 ? names : [...new Set(names)],
      decisions: 1,
      run: (counters, nowMs) =>
        decideGroup(
          charges,
          names.map((name) => counters.get(name) as Counter),
          nowMs,
          permit,
        ),
      undo: (decided, stored) => this.#undoJob(decided, stored, permit),
    }
  }

  /** Takes back what a group has charged in those counters that were stored, although others were not. */
  #undoJob(decided: DecidedGroup, stored: ReadonlySet<string>, permit: string | undefined): CasJob<void> | undefined {
    const made = madeIn(decided, nameOf, stored)
    if (made.length === 0) return undefined
    return {
      names: [...new Set(made.map(({ charge }) => nameOf(charge)))],
      decisions: 0,
      run: (counters, nowMs) => {
        for (const { charge, hits } of made) {
          const counter = counters.get(nameOf(charge)) as Counter
          if (holdsPermits(charge.limit)) releaseIn(counter, permit as string)
          else counter.charge(charge.limit, nowMs, -hits, '', OUT)
        }
      },
    }
  }

  async #all<Answer>(jobs: readonly CasJob<Answer>[]): Promise<readonly Answer[]> {
    const timeoutMs = Math.max(BACKGROUND_TIMEOUT_MS, this.timeoutMs)
    // All of them come to an end before the first fault is reported.
    const ended = await Promise.allSettled(jobs.map((job) => this.#flights.submit(job, timeoutMs)))
    return ended.map((each) => {
      if (each.status === 'rejected') throw each.reason
      return each.value
    })
  }

  /** Returns the shortest of what the charges' rules allow. */
  #timeoutOf(charges: readonly Charge[]): number {
    let timeoutMs = Number.POSITIVE_INFINITY
    let isSaid = true
    for (const { policy } of charges) {
      if (policy?.timeoutMs === undefined) isSaid = false
      else timeoutMs = Math.min(timeoutMs, policy.timeoutMs)
    }
    if (!isSaid) timeoutMs = Math.min(timeoutMs, this.timeoutMs)
    return this.#isTried ? timeoutMs : Math.max(timeoutMs, FIRST_TIMEOUT_MS)
  }

  #ended(events: CasEvents, ...call: Parameters<NonNullable<CasEvents['callEnded']>>): void {
    const [shard, durationMs, decisions, fault] = call
    this.#isTried = true
    const nowAt = monotonicMs()
    const learner = this.#learners.of(shard)
    if (fault === undefined) {
      learner.answered(durationMs, Math.max(1, decisions), nowAt)
      if (nowAt >= this.#expireDueAt) void this.#expire()
    } else if (fault.reason === 'timeout') learner.timedOut(this.timeoutMs, Math.max(1, decisions), nowAt)
    events.callEnded?.(...call)
  }

  /** Lets the engine remove a part of what has expired, more often while there is more. */
  async #expire(): Promise<void> {
    this.#expireDueAt = Number.POSITIVE_INFINITY
    const isMore = await this.#engine.expire().catch(() => false)
    this.#expireDueAt = monotonicMs() + (isMore ? NEXT_PART_MS : NEXT_ROUND_MS)
  }

  /** Asks the engine for its time when that is due. Only the first answer is waited for. */
  #timeKnown(): Promise<void> | undefined {
    const clock = this.#serverClock
    if (clock === undefined || monotonicMs() < this.#sampleDueAt) return undefined
    this.#sampling ??= this.#sample(clock).finally(() => {
      this.#sampling = undefined
    })
    if (!clock.isKnown) return this.#sampling
    this.#sampling.catch(() => {})
    return undefined
  }

  async #sample(clock: ServerClock): Promise<void> {
    const askedAt = monotonicMs()
    const sample = await this.#engine.time()
    clock.learn(sample, askedAt)
    this.#sampleDueAt = monotonicMs() + clock.nextSampleInMs(sample.withinMs)
  }
}

const NEXT_PART_MS = 1_000
const NEXT_ROUND_MS = 60_000
const OUT = new Outcome()

function nameOf({ key, limit }: Charge): string {
  return storedKey(key, limit)
}

/** Takes a holder's account, and lends. What ran out was charged at its time, and may be worth nothing by now. */
function exchangeIn(counter: Counter, request: SliceRequest, nowMs: number): SliceReply {
  const { limit } = request
  counter.book ??= new SliceBook()
  const { book } = counter
  const reply = book.exchange(request, nowMs, counter.booked(limit))
  counter.book = book
  counter.look(limit, nowMs, 0, OUT)
  if (OUT.expiresAtMs <= nowMs) counter.clearState()
  counter.keepUntil(limit, OUT.expiresAtMs)
  counter.isDirty = true
  return reply
}

/** Returns random bytes as text without separators. */
function randomText(bytes: number): string {
  let text = ''
  for (const byte of globalThis.crypto.getRandomValues(new Uint8Array(bytes)))
    text += byte.toString(16).padStart(2, '0')
  return text
}
