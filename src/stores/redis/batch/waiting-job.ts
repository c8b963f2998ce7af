import type { StoreFault } from '../../../engine/store-fault.ts'

/** A job that waits for its answer. Its time starts when its turn to be sent comes. */
export interface WaitingJob<Job, Answer> {
  readonly job: Job
  /** What it can share a call with on every server, see laneOf. */
  readonly partition: string
  readonly timeoutMs: number
  /** When its time is up; 0 until its time starts. */
  dueAt: number
  /** How often its time was restarted because the process had stalled. */
  stalls: number
  isSettled: boolean
  /** It travels in a separate call: the keys of others are on the other side of a moving slot. */
  isAlone: boolean
  readonly resolve: (answer: Answer) => void
  readonly reject: (fault: StoreFault) => void
}

/** The functions of the promise that is being made. */
let resolveLast: (answer: never) => void = () => {}
let rejectLast: (fault: StoreFault) => void = () => {}

/** Returns the executor of every promise: to make one for each is a twentieth of a lone decision's garbage. */
function keepLast(resolve: (answer: never) => void, reject: (fault: StoreFault) => void): void {
  resolveLast = resolve
  rejectLast = reject
}

/** Makes a job that waits, and hands it to `wait`; it promises its answer. */
export function promiseJob<Job, Answer>(
  job: Job,
  partition: string,
  timeoutMs: number,
  wait: (waiting: WaitingJob<Job, Answer>) => void,
): Promise<Answer> {
  const promise = new Promise<Answer>(keepLast as ConstructorParameters<typeof Promise<Answer>>[0])
  wait({
    job,
    partition,
    timeoutMs,
    dueAt: 0,
    stalls: 0,
    isSettled: false,
    isAlone: false,
    resolve: resolveLast as (answer: Answer) => void,
    reject: rejectLast,
  })
  return promise
}

type Anyone = Pick<WaitingJob<unknown, never>, 'reject'> & { isSettled: boolean }

/** How often a job's time is restarted after a stall: a bound, in case the store is silent as well. */
const MAX_STALLS = 3

export function refuse(waiting: Anyone, fault: StoreFault): void {
  if (waiting.isSettled) return
  waiting.isSettled = true
  waiting.reject(fault)
}

export function refuseAll(batch: readonly Anyone[], fault: StoreFault): void {
  for (const waiting of batch) refuse(waiting, fault)
}

export function settle<Answer>(waiting: WaitingJob<unknown, Answer>, answer: Answer): void {
  if (waiting.isSettled) return
  waiting.isSettled = true
  waiting.resolve(answer)
}

/** Returns when the first of the jobs that still wait is due; infinity when none does. */
export function soonestDue(jobs: readonly Pick<WaitingJob<unknown, never>, 'isSettled' | 'dueAt'>[]): number {
  let nextAt = Number.POSITIVE_INFINITY
  for (const { isSettled, dueAt } of jobs) if (!isSettled && dueAt < nextAt) nextAt = dueAt
  return nextAt
}

/** Restarts the time of jobs that are due, because the process has stalled. */
export function excuse(jobs: readonly WaitingJob<unknown, never>[], nowAt: number): void {
  for (const waiting of jobs) {
    if (waiting.isSettled || waiting.dueAt > nowAt || waiting.stalls >= MAX_STALLS) continue
    waiting.stalls++
    waiting.dueAt = nowAt + waiting.timeoutMs
  }
}
