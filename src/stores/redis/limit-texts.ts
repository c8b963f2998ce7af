import type { Limit } from '../../core/limit.ts'

/** LimitTexts spells limits for decide.lua, and remembers the spelling: a limit is frozen, only calendars move on. */
export class LimitTexts {
  readonly #texts = new WeakMap<Limit, string>()
  readonly #wallMs: () => number

  constructor(wallMs: () => number = Date.now) {
    this.#wallMs = wallMs
  }

  of(limit: Limit): string {
    if (limit.calendar !== undefined) return `${spell(limit)} ${edges(limit, this.#wallMs()).join(' ')}`
    const known = this.#texts.get(limit)
    if (known !== undefined) return known
    const text = spell(limit)
    this.#texts.set(limit, text)
    return text
  }
}

function spell(limit: Limit): string {
  const letter = limit.isLog ? limit.algorithmRecord.logLetter : limit.shape[0]
  const { windowMs, capacity, unitsPerMs, unitsPerHit, quantumMs } = limit
  return [letter, limit.max, windowMs, capacity, unitsPerMs, unitsPerHit, quantumMs, limit.countDenied ? 1 : 0].join(
    ' ',
  )
}

/**
 * edges returns where the calendar's windows around the present begin: the last two, this one, and the next two. The one
 * before the last matters for a window that a clock which was set back moved off the calendar: of 31 days from the end of
 * January, it reaches into March.
 */
function edges({ calendar }: Limit, nowMs: number): number[] {
  if (calendar === undefined) return []
  const current = calendar.windowAt(nowMs)
  const previous = calendar.windowAt(current.startMs - 1)
  const next = calendar.windowAt(current.endMs)
  const earlier = calendar.windowAt(previous.startMs - 1)
  return [earlier.startMs, previous.startMs, current.startMs, next.startMs, next.endMs]
}
