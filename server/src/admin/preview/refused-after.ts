import { formatDuration } from 'sluice/internal/core/duration'
import { handsOutTurns, holdsPermits, type Limit } from 'sluice/internal/core/limit'
import type { CountRange } from '../api/change.ts'

/** HourCounts is what one limit did for one caller in a span of time: sums, without when each request came. */
export interface HourCounts {
  readonly allowed: number
  readonly refused: number
  /** Of the requests that were allowed. */
  readonly cost: number
}

/** A LimitChange is a limit before and after a change, and the span that counts are known for. Undefined: no limit. */
export interface LimitChange {
  readonly before: Limit | undefined
  readonly after: Limit | undefined
  /** False: the counts are sums of several counters, or the counter is shared with other callers. */
  readonly isOneCounter: boolean
  /** Other limits decided about the same caller, and may refuse what this one lets pass. */
  readonly hasOthers: boolean
  readonly fromMs: number
  readonly toMs: number
}

export interface RefusedAfter extends CountRange {
  /** Why it is not one number. */
  readonly why: string | undefined
}

/**
 * refusedAfter bounds how many of the counted requests would have been refused had a change been in force from the beginning
 * of the span on. Each bound holds for every order and time that the requests may have come in.
 */
export function refusedAfter(counts: HourCounts, change: LimitChange): RefusedAfter {
  const { atLeast, atMost } = boundsOf(counts, change)
  return { atLeast, atMost, why: atLeast === atMost ? undefined : reasonFor(counts, change) }
}

function boundsOf(counts: HourCounts, change: LimitChange): CountRange {
  const { allowed, refused } = counts
  const { before, after, hasOthers } = change
  if (allowed + refused === 0) return exactly(0)
  if (after === undefined) return { atLeast: 0, atMost: hasOthers ? refused : 0 }
  if (before === undefined || before.shape !== after.shape) return onNewCounter(counts, change, after)
  const [max, capacity] = [after.max - before.max, after.capacity - before.capacity]
  if (before.countDenied !== after.countDenied) return { atLeast: 0, atMost: allowed + refused }
  if (max === 0 && capacity === 0) return exactly(refused)
  if (max >= 0 && capacity >= 0) return raised(counts, change, { before, after })
  if (max <= 0 && capacity <= 0) return lowered(counts, change, { before, after })
  return { atLeast: 0, atMost: allowed + refused }
}

interface Step {
  readonly before: Limit
  readonly after: Limit
}

/** raised: each window admits at most the difference more, and what was refused takes it. */
function raised(counts: HourCounts, change: LimitChange, { before, after }: Step): CountRange {
  const { allowed, refused } = counts
  if (!isCountable(counts, after)) return { atLeast: 0, atMost: refused }
  const atMost = refused - (isBucket(after) || change.hasOthers ? 0 : Math.min(refused, after.max - before.max))
  if (!change.isOneCounter) return { atLeast: 0, atMost }
  const fromBefore = refused - mostBetween(before, after, change)
  const fromNothing = allowed + refused - mostAdmitted(after, change)
  return { atLeast: Math.max(0, fromBefore, fromNothing), atMost }
}

/** lowered: each window admits at most the difference less. One that was full loses all of it. */
function lowered(counts: HourCounts, change: LimitChange, { before, after }: Step): CountRange {
  const { allowed, refused } = counts
  const all = allowed + refused
  if (!change.isOneCounter || !isCountable(counts, after)) return { atLeast: refused, atMost: all }
  const difference = before.max - after.max
  const most = mostAdmitted(after, change)
  if (isBucket(after)) return { atLeast: Math.max(refused, all - most), atMost: all }
  const wasFull = refused > 0 && isFixed(after) && (windowsIn(after, change) === 1 || startsAt(after, change.fromMs))
  const atLeast = Math.max(refused + (wasFull ? Math.min(allowed, difference) : 0), all - most)
  if (change.hasOthers) return { atLeast, atMost: all }
  if (beginsIn(after, change)) return exactly(Math.max(0, all - after.max))
  return { atLeast, atMost: refused + Math.min(allowed, mostBetween(after, before, change)) }
}

/** onNewCounter: with another window or algorithm, nothing is used at first. */
function onNewCounter(counts: HourCounts, change: LimitChange, after: Limit): CountRange {
  const all = counts.allowed + counts.refused
  if (!change.isOneCounter || !isCountable(counts, after)) return { atLeast: 0, atMost: all }
  const atLeast = Math.max(0, all - mostAdmitted(after, change))
  return { atLeast, atMost: change.hasOthers ? all : Math.max(0, all - after.capacity) }
}

const exactly = (count: number): CountRange => ({ atLeast: count, atMost: count })

/** isCountable says whether requests are what the limit counts: places that are held, and costs, are not. */
function isCountable(counts: HourCounts, limit: Limit): boolean {
  return costsOne(counts) && !holdsPermits(limit) && !limit.countDenied
}

const costsOne = ({ allowed, cost }: HourCounts): boolean => cost === allowed

/** isBucket: budget that comes back bit by bit, so that no window begins or ends. */
const isBucket = (limit: Limit): boolean => limit.algorithmRecord.maxUnitsPerMs !== undefined || handsOutTurns(limit)

const isFixed = ({ algorithm, isAnchored }: Limit): boolean => algorithm === 'fixed_window' && !isAnchored

/** mostAdmitted is what no order of requests can exceed, whatever was used before. */
function mostAdmitted(limit: Limit, { fromMs, toMs }: Span): number {
  if (isBucket(limit)) return limit.capacity + Math.ceil((limit.max * (toMs - fromMs)) / limit.windowMs)
  return limit.max * windowsIn(limit, { fromMs, toMs })
}

/** mostBetween is how many more a higher limit can admit than a lower one, from the same use on. A bucket of another size is full of other parts. */
function mostBetween(low: Limit, high: Limit, span: Span): number {
  return isBucket(high) ? mostAdmitted(high, span) : (high.max - low.max) * windowsIn(high, span)
}

/** windowsIn is how many windows of a limit a span touches. */
function windowsIn({ algorithm, calendar, isAnchored, windowMs, isLog }: Limit, span: Span): number {
  const { fromMs, toMs } = span
  if (calendar !== undefined) return calendar.windowAt(fromMs).endMs >= toMs ? 1 : 2
  const isOnGrid = (algorithm === 'fixed_window' && !isAnchored) || (algorithm === 'sliding_window' && !isLog)
  if (isOnGrid) return Math.floor((toMs - 1) / windowMs) - Math.floor(fromMs / windowMs) + 1
  // A log looks back from each request; anchored windows begin with any.
  return Math.ceil((toMs - fromMs) / windowMs) + (algorithm === 'sliding_log' ? 0 : 1)
}

type Span = Pick<LimitChange, 'fromMs' | 'toMs'>

/** beginsIn says whether the only window of a span begins with it: nothing was used before. */
function beginsIn(limit: Limit, span: Span): boolean {
  return isFixed(limit) && windowsIn(limit, span) === 1 && startsAt(limit, span.fromMs)
}

function startsAt(limit: Limit, fromMs: number): boolean {
  return limit.calendar === undefined
    ? fromMs % limit.windowMs === 0
    : limit.calendar.windowAt(fromMs).startMs === fromMs
}

function reasonFor(counts: HourCounts, { before, after, isOneCounter, hasOthers, fromMs, toMs }: LimitChange): string {
  const limit = after ?? before
  if (limit !== undefined && holdsPermits(limit)) return 'How long requests took is not known.'
  if (!isOneCounter) return 'It has a counter for each value, and use is known for all of them together.'
  if (!costsOne(counts)) return 'Requests cost different amounts, and the cost of refused ones is not known.'
  if (limit?.countDenied === true) return 'Refused requests are charged, too.'
  if (hasOthers) return 'Other limits may refuse the same requests.'
  const isShort = limit !== undefined && limit.windowMs < toMs - fromMs
  return isShort
    ? `Use is known by the hour, and this limit counts per ${formatDuration(limit.windowMs)}: it depends on how the requests were spread.`
    : 'It depends on when the requests came.'
}
