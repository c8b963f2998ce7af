import { storedKey } from '../../../core/keys.ts'
import type { Limit } from '../../../core/limit.ts'
import { readableKeys, type StoredKeys } from './stored-keys.ts'

/**
 * Encodes limits for decide.lua, and caches the result: a limit is frozen, only calendars move on. Also returns the
 * keys of their counters.
 */
export class LimitTexts {
  readonly #texts = new WeakMap<Limit, string>()
  readonly #alone = new WeakMap<Limit, readonly [string]>()
  readonly #lendable = new WeakMap<Limit, readonly [string]>()
  readonly #wallMs: () => number
  readonly #keys: StoredKeys

  constructor(wallMs: () => number = Date.now, keys: StoredKeys = readableKeys('')) {
    this.#wallMs = wallMs
    this.#keys = keys
  }

  /** Returns the name of a counter in Redis. */
  keyOf(key: string, limit: Limit): string {
    return this.#keys.of(storedKey(key, limit))
  }

  /** Returns a list of the text alone, which is all the arguments that most calls of a quiet service have. */
  aloneOf(limit: Limit): readonly [string] {
    return this.#listOf(limit, this.#alone, '')
  }

  /** Like aloneOf for a counter of which slices may be out. */
  lendableOf(limit: Limit): readonly [string] {
    return this.#listOf(limit, this.#lendable, LENDABLE)
  }

  #listOf(limit: Limit, known: WeakMap<Limit, readonly [string]>, mark: string): readonly [string] {
    const remembered = limit.calendar === undefined ? known.get(limit) : undefined
    if (remembered !== undefined) return remembered
    const alone = [mark + this.of(limit)] as const
    known.set(limit, alone)
    return alone
  }

  of(limit: Limit): string {
    if (limit.calendar !== undefined)
      return `${formatLimit(limit, this.#keys.isCompact)} ${edges(limit, this.#wallMs()).join(' ')}`
    const known = this.#texts.get(limit)
    if (known !== undefined) return known
    const text = formatLimit(limit, this.#keys.isCompact)
    this.#texts.set(limit, text)
    return text
  }
}

/** The mark of a lone charge whose counter may be lent. */
const LENDABLE = '+'
/** Windows whose state is one number where counters are compact: then their letter is a capital. */
const NUMBERED = 'sfa'

function formatLimit(limit: Limit, isCompact: boolean): string {
  const small = limit.isLog ? limit.algorithmRecord.logLetter : limit.shape[0]
  const letter = isCompact && NUMBERED.includes(String(small)) ? String(small).toUpperCase() : small
  const { windowMs, capacity, unitsPerMs, unitsPerHit, quantumMs } = limit
  return [letter, limit.max, windowMs, capacity, unitsPerMs, unitsPerHit, quantumMs, limit.countDenied ? 1 : 0].join(
    ' ',
  )
}

/**
 * Returns where the calendar's windows around the present begin: the last two, this one, and the next two. The one
 * before the last matters for a window that a clock which was set back moved off the calendar: of 31 days from the end
 * of January, it reaches into March.
 */
function edges({ calendar }: Limit, nowMs: number): number[] {
  if (calendar === undefined) return []
  const current = calendar.windowAt(nowMs)
  const previous = calendar.windowAt(current.startMs - 1)
  const next = calendar.windowAt(current.endMs)
  const earlier = calendar.windowAt(previous.startMs - 1)
  return [earlier.startMs, previous.startMs, current.startMs, next.startMs, next.endMs]
}
