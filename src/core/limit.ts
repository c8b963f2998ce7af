import type { AlgorithmRecord } from './algorithms/algorithm.ts'
import { ALGORITHM_NAMES, ALGORITHMS, type Algorithm } from './algorithms/algorithms.ts'
import { type LimitNumbers, MAX_COUNT } from './algorithms/limit-numbers.ts'
import { Calendar, type CalendarOptions } from './calendar.ts'
import { gotInstead, unknownOption } from './check-options.ts'
import { type Duration, formatDuration, parseDuration } from './duration.ts'
import { got, SluiceError } from './errors.ts'
import type { Expected } from './hints.ts'
import {
  type Anchor,
  boundsOf,
  COUNTING,
  COUNTING_OPTIONS,
  countingOption,
  isValueOf,
  type LimitOption,
} from './limit-options.ts'
import { type Pace, paceOf } from './pace.ts'

export { ALGORITHM_NAMES, type Algorithm } from './algorithms/algorithms.ts'
export { MAX_COUNT, TOO_MUCH } from './algorithms/limit-numbers.ts'
export type { Anchor } from './limit-options.ts'

/** One limit as a person writes it. compileLimit checks it and turns it into a Limit. */
export interface LimitOptions {
  /** How many hits (or, for `concurrency`, concurrent permits). 0 blocks everything. */
  readonly limit: number
  /** The span that `limit` is counted over: `'1m'`, `'90s'`, or milliseconds. 1 ms to 10 years. */
  readonly window?: Duration
  /** Default: `sliding_window`; `sliding_log` for an app's limit up to 10. */
  readonly algorithm?: Algorithm
  /** Buckets only: how many hits fit into a burst. Default: `limit`. */
  readonly burst?: number
  /** `sliding_window` only: count in this many parts, never over the limit in any window. Costs a record per part. */
  readonly subWindows?: number
  /** `fixed_window` only: follow the calendar instead of a window of fixed length. */
  readonly calendar?: CalendarOptions
  /**
   * `fixed_window` only: where windows begin. `'epoch'` (default): all at the same moments, counted from 1970.
   * `'first_hit'`: each caller's with its first hit, as in express-rate-limit.
   */
  readonly anchor?: Anchor
  /** `concurrency` only: a permit that is neither released nor renewed expires after this long. Default: `'60s'`. */
  readonly leaseTtl?: Duration
  /** Charge refused requests too: a caller that keeps hammering stays refused. Default: false. */
  readonly countDenied?: boolean
}

/** One limit, checked and computed once, so that a decision is arithmetic alone. */
export interface Limit extends LimitNumbers {
  readonly algorithm: Algorithm
  /** What is known of the algorithm, and how it is evaluated. */
  readonly algorithmRecord: AlgorithmRecord
  readonly calendar: Calendar | undefined
  /** True where the state is a list of records (sliding_log, concurrency, sub-windows). */
  readonly isLog: boolean
  /** What the state's numbers mean, as text: counters of one key and another shape are other counters. */
  readonly shape: string
  /** The shape as 32 bits, for stores that hash their keys. */
  readonly space: number
}

const MAX_LOG_LIMIT = 10_000
/** Of a limit that is this small, twice as many at the edge of a window is not what anyone means by it. */
const SMALL = 10

/**
 * Returns a limit that an app gives as a number, with what is the default for it: a small one without an algorithm is a
 * `sliding_log`, so that no window has more than it. For limits whose number changes while they count (of rules, tiers
 * and functions), the default is always the same, because counters of another algorithm are other counters.
 */
export function withDefaultAlgorithm(options: LimitOptions): LimitOptions {
  const { limit, algorithm, calendar, anchor, subWindows, burst } = options
  const isPlain = (algorithm ?? calendar ?? anchor ?? subWindows ?? burst) === undefined
  return isPlain && limit >= 1 && limit <= SMALL ? { ...options, algorithm: 'sliding_log' } : options
}

/** Checks every option and returns the frozen Limit. `where` prefixes the option's name in errors. */
export function compileLimit(options: LimitOptions, where = ''): Limit {
  const at = (option: string): string => (where === '' ? option : `${where}.${option}`)
  const algorithm = options.algorithm ?? COUNTING.algorithm.default
  if (!ALGORITHM_NAMES.includes(algorithm)) {
    throw new SluiceError('ALGORITHM_UNKNOWN', at('algorithm'), gotInstead(algorithm, wordsOf(ALGORITHM_NAMES)))
  }
  checkApplicable(options, algorithm, at)
  checkValues(options, at)
  const calendar = options.calendar && new Calendar(options.calendar, at('calendar'))
  const windowMs = calendar ? calendar.longestMs : windowOf(options, algorithm, at)
  const algorithmRecord = ALGORITHMS[algorithm]
  const isLog = algorithmRecord.stateNumbers === 0 || options.subWindows !== undefined
  if (isLog && options.subWindows === undefined && options.limit > MAX_LOG_LIMIT) {
    throw new SluiceError('LOG_LIMIT_TOO_HIGH', at('limit'), got(options.limit))
  }
  const bucket = bucketOf(options, algorithmRecord, windowMs, at)
  const shape = shapeOf(options, algorithmRecord, windowMs)
  return Object.freeze({
    algorithm,
    algorithmRecord,
    max: options.limit,
    windowMs,
    capacity: bucket.capacity,
    unitsPerMs: bucket.unitsPerMs,
    unitsPerHit: bucket.unitsPerHit,
    fullUnits: bucket.capacity * bucket.unitsPerHit,
    quantumMs: quantumOf(options.subWindows, windowMs, at('subWindows')),
    calendar,
    isAnchored: options.anchor === 'first_hit',
    countDenied: options.countDenied ?? COUNTING.count_denied.default,
    maxUsed: MAX_COUNT,
    isLog,
    shape,
    space: spaceOf(shape),
  })
}

/**
 * Returns a limit of the same shape with a share of the budget: at least 1, unless the whole is 0. It is for counting
 * in one process what is meant for many.
 */
export function scaleLimit(limit: Limit, share: number): Limit {
  const scaled = (count: number): number => (count === 0 ? 0 : Math.max(1, Math.floor(count * share)))
  const capacity = scaled(limit.capacity)
  const finest = limit.algorithmRecord.maxUnitsPerMs?.(0) ?? 0
  const pace = limit.unitsPerMs === 0 ? NO_PACE : (paceOf(scaled(limit.max), limit.windowMs, finest) ?? NO_PACE)
  const fullUnits = capacity * pace.unitsPerHit
  return Object.freeze({ ...limit, ...pace, max: scaled(limit.max), capacity, fullUnits })
}

const DEBITS = new WeakMap<Limit, Limit>()

/**
 * Returns the same limit for late charges, of requests that have already happened: what does not fit is charged anyway,
 * into a debt of at most one whole budget. The Outcome says what is dropped beyond that.
 */
export function debitLimit(limit: Limit): Limit {
  const known = DEBITS.get(limit)
  if (known !== undefined) return known
  const debit = Object.freeze({ ...limit, countDenied: true, maxUsed: 2 * limit.capacity })
  DEBITS.set(limit, debit)
  return debit
}

/** Ten years, the longest window there is. */
const ONCE_MS = 3_650 * 86_400_000

/**
 * Returns a limit for budget that is never refilled: a window of ten years from the first hit on. Its shape is always
 * the same, so that a change keeps what was used.
 */
export function onceLimit(amount: number): Limit {
  return compileLimit({ limit: amount, window: ONCE_MS, algorithm: 'fixed_window', anchor: 'first_hit' })
}

/** Returns whether budget is never refilled: then there is no window to report. */
export function isOnce({ isAnchored, windowMs }: Limit): boolean {
  return isAnchored && windowMs === ONCE_MS
}

/**
 * Returns whether nodes may count a limit in slices, or exchange their counts later. With countDenied, the store has to
 * see every refused hit.
 */
export function isLeasable({ algorithmRecord, countDenied }: Limit): boolean {
  return algorithmRecord.isLeasable && !countDenied
}

/** Returns whether a limit counts permits, which are held and released, and not hits. */
export function holdsPermits(limit: Limit): boolean {
  return limit.algorithmRecord.holdsPermits
}

/** Returns whether a limit has hits wait for their turn. */
export function handsOutTurns(limit: Limit): boolean {
  return limit.algorithmRecord.handsOutTurns
}

/**
 * Formats what a counter's state depends on, in short: the algorithm and its window, as in `s1m`, `s1m/60` (with
 * sub-windows), `f/month/Europe/Berlin`. Limit and burst are not part of it, so that raising a limit during an incident
 * keeps what callers have used.
 */
function shapeOf(options: LimitOptions, algorithm: AlgorithmRecord, windowMs: number): string {
  const { calendar, subWindows } = options
  const letter = options.anchor === 'first_hit' ? algorithm.anchoredLetter : algorithm.letter
  if (calendar !== undefined) return `${letter}/${calendar.unit}/${calendar.timeZone ?? 'UTC'}`
  return `${letter}${formatDuration(windowMs)}${subWindows === undefined ? '' : `/${subWindows}`}`
}

/** Makes 32 bits of a shape. */
export function spaceOf(shape: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < shape.length; i++) hash = Math.imul(hash ^ shape.charCodeAt(i), 0x01000193)
  return hash
}

type Where = (option: string) => string

function checkApplicable(options: LimitOptions, algorithm: Algorithm, at: Where): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined) continue
    const row = countingOption(option)
    if (row === undefined) throw unknownOption(option, COUNTING_OPTIONS, at(''))
    if (row.algorithms !== undefined && !row.algorithms.includes(algorithm)) {
      const detail = `not used by ${algorithm}, only by ${row.algorithms.join(', ')}`
      throw new SluiceError('OPTION_NOT_APPLICABLE', at(option), detail)
    }
  }
  if (options.calendar !== undefined && options.window !== undefined) {
    throw new SluiceError('OPTION_NOT_APPLICABLE', at('window'), 'calendar is also given and sets the window')
  }
  if (options.calendar !== undefined && options.anchor === 'first_hit') {
    throw new SluiceError('OPTION_NOT_APPLICABLE', at('anchor'), 'calendar is also given and sets where windows begin')
  }
}

/** Holds each option to its type and its bounds. */
function checkValues(options: LimitOptions, at: Where): void {
  for (const option of COUNTING_OPTIONS) {
    const value = options[option]
    if (value === undefined && option !== 'limit') continue
    const row = countingOption(option)
    if (row?.code === undefined || isValueOf(row, value)) continue
    throw new SluiceError(row.code, at(option), gotInstead(value, expectedBy(row)))
  }
}

function expectedBy(row: LimitOption): Expected {
  const { kind } = row.schema
  if (kind === 'choice') return wordsOf(row.schema.of)
  return kind === 'integer' ? { isNumber: true, expected: boundsOf(row).join(' to ') } : { expected: 'true or false' }
}

function wordsOf(words: readonly string[]): Expected {
  return { words, expected: words.join(', ') }
}

function windowOf(options: LimitOptions, algorithm: Algorithm, at: Where): number {
  const option = algorithm === 'concurrency' ? 'leaseTtl' : 'window'
  const value = algorithm === 'concurrency' ? (options.leaseTtl ?? COUNTING.lease_ttl.default) : options.window
  if (value === undefined) throw new SluiceError('WINDOW_REQUIRED', at(option), 'not given')
  const windowMs = parseDuration(value, at(option))
  const [min, max] = COUNTING.window.within
  if (windowMs < min || windowMs > max) throw new SluiceError('WINDOW_INVALID', at(option), got(value))
  return windowMs
}

function quantumOf(subWindows: number | undefined, windowMs: number, where: string): number {
  if (subWindows === undefined) return 1
  if (subWindows > windowMs) throw new SluiceError('SUB_WINDOWS_INVALID', where, got(subWindows))
  return Math.ceil(windowMs / subWindows)
}

const NO_PACE: Pace = { unitsPerMs: 0, unitsPerHit: 1 }

/** Computes the arithmetic of the three buckets; everything else has the limit as its capacity. */
function bucketOf(
  options: LimitOptions,
  { maxUnitsPerMs }: AlgorithmRecord,
  windowMs: number,
  at: Where,
): Pace & { capacity: number } {
  if (maxUnitsPerMs === undefined || (options.limit === 0 && options.burst === undefined))
    return { ...NO_PACE, capacity: options.limit }
  const capacity = options.burst ?? options.limit
  if (options.limit === 0) throw new SluiceError('BURST_INVALID', at('burst'), `got ${capacity} with a limit of 0`)
  const pace = paceOf(options.limit, windowMs, maxUnitsPerMs((capacity * windowMs) / options.limit))
  if (pace === undefined) throw new SluiceError('RATE_TOO_HIGH', at('limit'), got(options.limit))
  if (capacity * pace.unitsPerHit > 2 ** 50) throw new SluiceError('BUCKET_TOO_LARGE', at('burst'), got(capacity))
  return { ...pace, capacity }
}
