import { StoreFault } from '../../engine/store-fault.ts'
import { refuse, settle, type WaitingJob } from '../redis/batch/waiting-job.ts'
import type { CasEngine, CasResult, CasWrite, Stored } from './cas-engine.ts'
import type { CasJob } from './cas-job.ts'
import { Counter } from './counter.ts'
import { decodeCounter, encodeCounter, MAX_OPERATIONS, type Operations } from './counter-text.ts'

/** A job that waits for its answer, and how many races it has lost. */
export type Waiting = WaitingJob<CasJob<unknown>, unknown> & { tries: number }

/** What is known of a counter: what was read, or written by this process. */
export interface Known {
  readonly version: string | undefined
  readonly operations: Operations
  /** Undefined: what is stored is not a counter. */
  readonly counter: Counter | undefined
}

/** What attempts share. */
export interface AttemptHost {
  readonly engine: CasEngine
  /** What is known from before. */
  readonly known: Map<string, Known>
  /** Resolves when the time of the engine is known. */
  timeKnown(): Promise<void> | undefined
  nowMs(): number
  /** Names this node in the writes of counters. */
  readonly node: string
  /** Returns a number that was not used for a write before. */
  nextWrite(): number
}

export interface AttemptResult {
  /** Jobs that another process was ahead of: what they named has changed since it was read. */
  readonly lost: readonly Waiting[]
  /** What takes back those parts of them that were stored. */
  readonly undone: readonly CasJob<unknown>[]
  /** Why it is not known of some jobs whether they were made. They were refused. */
  readonly fault: StoreFault | undefined
}

/** What became of a write. Of some no one knows. */
type Ended = CasResult | { readonly isWritten: undefined; readonly fault: StoreFault }

/** How many counters are remembered, and up to which size. */
const MAX_KNOWN = 10_000
const MAX_KNOWN_RECORDS = 256
/** How long a counter is kept beyond its end: a clock may be behind, and a write recognised as our own. */
const KEPT_MS = 60_000
/** A call that takes as long as that is given up. Requests have had their answers long before. */
const GIVEN_UP_MS = 10_000

/**
 * One attempt to make a batch of jobs: it reads what is not known, runs the jobs on copies, and writes those that have
 * changed, if nothing else has. A job that changes nothing is answered only from what was read after it came.
 */
export class Attempt {
  readonly #host: AttemptHost
  readonly #batch: readonly Waiting[]
  readonly #names: readonly string[]
  readonly #states = new Map<string, Known>()
  readonly #fresh = new Set<string>()
  readonly #operation: string
  #drafts = new Map<string, Counter>()
  #answers: unknown[] = []
  /** Counters of jobs that still wait. */
  #wanted = new Set<string>()

  constructor(host: AttemptHost, batch: readonly Waiting[]) {
    this.#host = host
    this.#batch = batch
    this.#names = [...new Set(batch.flatMap(({ job }) => job.names))]
    this.#operation = `${host.node}.${host.nextWrite().toString(36)}`
  }

  async go(): Promise<AttemptResult> {
    const { known } = this.#host
    for (const name of this.#names) {
      const state = known.get(name)
      if (state !== undefined) this.#states.set(name, state)
    }
    await this.#host.timeKnown()
    await this.#read(this.#names.filter((name) => !this.#states.has(name)))
    this.#run()
    for (let unsure = this.#unsure(); unsure.length > 0; unsure = this.#unsure()) {
      await this.#read(unsure)
      this.#run()
    }
    const results = await this.#write()
    for (const name of this.#names) this.#remember(name, results.get(name))
    return this.#settle(results)
  }

  async #read(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    const found = await givenUp(this.#host.engine, this.#host.engine.read(names))
    names.forEach((name, i) => {
      this.#fresh.add(name)
      this.#states.set(name, knownOf(found[i], this.#states.get(name)))
    })
  }

  /** Runs every job that still waits, on copies. */
  #run(): void {
    const nowMs = this.#host.nowMs()
    this.#drafts = new Map()
    this.#wanted = new Set()
    for (const name of this.#names) {
      const counter = this.#states.get(name)?.counter
      if (counter !== undefined) this.#drafts.set(name, counter.clone())
    }
    this.#answers = this.#batch.map((waiting) => {
      if (waiting.isSettled || !this.#isReadable(waiting)) return undefined
      for (const name of waiting.job.names) this.#wanted.add(name)
      return waiting.job.run(this.#drafts, nowMs)
    })
  }

  /** Returns whether a job finds counters under its names. One that resets does not need any. */
  #isReadable(waiting: Waiting): boolean {
    const { names, isReset } = waiting.job
    for (const name of names) {
      if (this.#drafts.has(name)) continue
      if (isReset !== true) {
        const detail = 'a stored counter is malformed: reset it, or remove it from the store'
        refuse(waiting, new StoreFault('broken', this.#host.engine.name, detail))
        return false
      }
      this.#drafts.set(name, new Counter())
    }
    return true
  }

  /** Returns the counters that stay as they are by what was known before the jobs came. */
  #unsure(): readonly string[] {
    return [...this.#wanted].filter((name) => !this.#fresh.has(name) && this.#drafts.get(name)?.isDirty !== true)
  }

  /** Writes what has changed. Where the answer is lost, it looks which writes were made. */
  async #write(): Promise<ReadonlyMap<string, Ended>> {
    const { engine } = this.#host
    const operation = this.#operation
    const dirty = this.#names.filter((name) => this.#drafts.get(name)?.isDirty)
    if (dirty.length === 0) return new Map()
    const groups = this.#groupsOf(dirty)
    const nowMs = this.#host.nowMs()
    const writes = dirty.map((name): CasWrite => {
      const { version: base, operations } = this.#states.get(name) as Known
      const counter = this.#drafts.get(name) as Counter
      return {
        name,
        text: encodeCounter({ counter, operations: withOperation(operations, operation) }),
        base,
        version: operation,
        ttlMs: Math.max(0, counter.expiresAtMs - nowMs) + KEPT_MS,
        group: groups.get(name) as number,
      }
    })
    const results: readonly Ended[] = await givenUp(engine, engine.write(writes)).catch((error: unknown) =>
      this.#findOut(writes, error),
    )
    return new Map(dirty.map((name, i) => [name, ownOr(results[i], operation)]))
  }

  /** Reads what became of writes without an answer. */
  async #findOut(writes: readonly CasWrite[], error: unknown): Promise<readonly Ended[]> {
    const { engine, known } = this.#host
    for (const { name } of writes) known.delete(name)
    if (!(error instanceof StoreFault) || (error.reason !== 'broken' && error.reason !== 'timeout')) throw error
    const names = writes.map(({ name }) => name)
    const found = await givenUp(engine, engine.read(names)).catch(() => {
      throw error
    })
    const ends = writes.map((write, i) => endOf(write, found[i]))
    if (!engine.isAtomic) return ends.map((end) => end ?? { isWritten: undefined, fault: error })
    // One that is known speaks for its group.
    const ofGroups = new Map<number, boolean>()
    writes.forEach(({ group }, i) => {
      const end = ends[i]
      if (end !== undefined) ofGroups.set(group, end.isWritten)
    })
    return ends.map((end, i): Ended => {
      const isWritten = ofGroups.get(writes[i].group)
      if (isWritten === undefined) return { isWritten, fault: error }
      if (end !== undefined) return end
      return isWritten ? { isWritten, version: writes[i].version } : { isWritten, found: found[i] }
    })
  }

  /** Numbers what has to be written together: counters that one job has changed. */
  #groupsOf(dirty: readonly string[]): ReadonlyMap<string, number> {
    const numbers = new Map(dirty.map((name, i) => [name, i]))
    const joined = dirty.map((_, i) => i)
    const groupOf = (number: number): number => {
      let group = number
      while (joined[group] !== group) group = joined[group]
      return group
    }
    for (const { job } of this.#batch) {
      let first: number | undefined
      if (job.names.length === 1) continue
      for (const name of job.names) {
        const number = numbers.get(name)
        if (number === undefined) continue
        first ??= groupOf(number)
        joined[groupOf(number)] = first
      }
    }
    return new Map(dirty.map((name, i) => [name, groupOf(i)]))
  }

  #remember(name: string, result: Ended | undefined): void {
    const { known } = this.#host
    known.delete(name)
    const next = this.#nextOf(name, result)
    if (next?.counter === undefined || next.counter.records.length > MAX_KNOWN_RECORDS) return
    next.counter.isDirty = false
    known.set(name, next)
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string)
  }

  #nextOf(name: string, result: Ended | undefined): Known | undefined {
    const state = this.#states.get(name)
    const counter = this.#drafts.get(name)
    if (state === undefined || counter === undefined) return undefined
    if (result === undefined) return { ...state, counter }
    if (result.isWritten) {
      return { version: result.version, operations: withOperation(state.operations, this.#operation), counter }
    }
    return 'found' in result ? knownOf(result.found, undefined) : undefined
  }

  /** Answers the jobs of which everything was stored. */
  #settle(results: ReadonlyMap<string, Ended>): AttemptResult {
    const lost: Waiting[] = []
    const undone: CasJob<unknown>[] = []
    let unknown: StoreFault | undefined
    this.#batch.forEach((waiting, i) => {
      const { job } = waiting
      const answer = this.#answers[i]
      const fault = faultIn(job.names.map((name) => results.get(name)))
      if (fault !== undefined) {
        unknown = fault
        refuse(waiting, fault)
        return
      }
      const isLost = job.names.some((name) => results.get(name)?.isWritten === false)
      if (!isLost) {
        settle(waiting, answer)
        return
      }
      lost.push(waiting)
      const stored = new Set(job.names.filter((name) => results.get(name)?.isWritten === true))
      const undo = stored.size === 0 || answer === undefined ? undefined : job.undo?.(answer, stored)
      if (undo !== undefined) undone.push(undo)
    })
    return { lost, undone, fault: unknown }
  }
}

/** Returns what is known by what was found. What has not changed since is as it is known. */
function knownOf(found: Stored | undefined, before: Known | undefined): Known {
  if (found === undefined) return { version: undefined, operations: [], counter: new Counter() }
  if (before?.counter !== undefined && before.version === found.version) return before
  const stored = decodeCounter(found.text)
  return { version: found.version, operations: stored?.operations ?? [], counter: stored?.counter }
}

function faultIn(ends: readonly (Ended | undefined)[]): StoreFault | undefined {
  for (const end of ends) if (end !== undefined && 'fault' in end) return end.fault
  return undefined
}

/** Takes a conflict with one's own write, which was carried out twice, for what it is. */
function ownOr(result: Ended, operation: string): Ended {
  if (result.isWritten !== false || result.found === undefined) return result
  const operations = decodeCounter(result.found.text)?.operations
  return operations?.includes(operation) ? { isWritten: true, version: result.found.version } : result
}

/**
 * Returns what became of a write, by what is stored now; undefined where that does not say it. A write that is not among
 * the last of its counter, although the counter has changed, was not made and never will be. Where nothing has changed,
 * it may still arrive.
 */
function endOf({ base, version }: CasWrite, stored: Stored | undefined): CasResult | undefined {
  const operations = stored && decodeCounter(stored.text)?.operations
  if (stored === undefined || operations === undefined) return undefined
  if (operations.includes(version)) return { isWritten: true, version: stored.version }
  if (stored.version === base || operations.length >= MAX_OPERATIONS) return undefined
  return { isWritten: false, found: stored }
}

/** Adds a write to the last of each node. */
function withOperation(operations: Operations, operation: string): Operations {
  const node = operation.slice(0, operation.indexOf('.') + 1)
  return [...operations.filter((each) => !each.startsWith(node)), operation].slice(-MAX_OPERATIONS)
}

/** Rejects when a call takes so long that no one waits for it any more. */
async function givenUp<T>({ name }: CasEngine, call: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreFault('timeout', name, 'no answer from the store')), GIVEN_UP_MS)
  })
  try {
    return await Promise.race([call, late])
  } finally {
    clearTimeout(timer)
  }
}
