import type { LiveFrame } from '../../api/operations.ts'

/** How many seconds a figure at the head of the page is the mean of: one second alone would tremble. */
const FIGURE_SECONDS = 5
/** And a rule's. */
const RULE_SECONDS = 10

/** Figures are the last seconds and, to compare them with, the frames that there are. */
export interface Figures {
  readonly allowed: number
  readonly refused: number
  /** The refused share of all requests; undefined: there were no requests. */
  readonly refusedShare: number | undefined
  readonly shadow: number
  /** Undefined: nothing was decided in the last seconds. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
  readonly hourAllowed: number
  readonly hourRefused: number
}

export function figuresOf(frames: readonly LiveFrame[]): Figures | undefined {
  if (frames.length === 0) return undefined
  const lately = frames.slice(-FIGURE_SECONDS)
  const allowed = meanOf(lately, 'allowed')
  const refused = meanOf(lately, 'refused')
  const all = allowed + refused
  const busy = lately.filter((frame) => frame.allowed + frame.refused > 0)
  return {
    ...{ allowed, refused, shadow: meanOf(lately, 'shadow_refused') },
    refusedShare: all === 0 ? undefined : refused / all,
    p50Ms: busy.length === 0 ? undefined : meanOf(busy, 'p50_ms'),
    p99Ms: busy.length === 0 ? undefined : Math.max(...busy.map(({ p99_ms }) => p99_ms)),
    hourAllowed: meanOf(frames, 'allowed'),
    hourRefused: meanOf(frames, 'refused'),
  }
}

type Amount = 'allowed' | 'refused' | 'shadow_refused' | 'p50_ms'

function meanOf(frames: readonly LiveFrame[], name: Amount): number {
  let sum = 0
  for (const frame of frames) sum += frame[name]
  return sum / frames.length
}

/** A BusyRule is what a rule decided a second, lately. */
export interface BusyRule {
  readonly domain: string
  readonly id: string
  readonly name: string
  readonly allowed: number
  readonly refused: number
  readonly shadow: number
}

/** busiestRules lists rules by what was asked of them in the last seconds: the ones that refuse come first. */
export function busiestRules(frames: readonly LiveFrame[], most: number): readonly BusyRule[] {
  const lately = frames.slice(-RULE_SECONDS)
  const byKey = new Map<string, { -readonly [K in keyof BusyRule]: BusyRule[K] }>()
  for (const { rules } of lately) {
    for (const { domain, id, name, allowed, refused, shadow_refused: shadow } of rules) {
      const key = `${domain} ${id}`
      const known = byKey.get(key) ?? { domain, id, name, allowed: 0, refused: 0, shadow: 0 }
      known.allowed += allowed / lately.length
      known.refused += refused / lately.length
      known.shadow += shadow / lately.length
      byKey.set(key, known)
    }
  }
  return [...byKey.values()].sort(byTrouble).slice(0, most)
}

function byTrouble(a: BusyRule, b: BusyRule): number {
  return b.refused - a.refused || b.allowed + b.shadow - (a.allowed + a.shadow) || (a.id < b.id ? -1 : 1)
}
