import type { LimitNumbers } from './simulate.ts'
import { BINS, formatBins, PATTERN_NAMES, PATTERNS, type PatternName, readBins, type Traffic } from './traffic.ts'

/** PlaygroundSettings are all that the page shows follows from. The address holds them. */
export interface PlaygroundSettings extends LimitNumbers {
  readonly pattern: PatternName | 'drawn'
  /** What was drawn; it counts while the pattern is 'drawn'. */
  readonly drawn: readonly number[]
}

export const WINDOWS_MS = [1_000, 2_000, 5_000, 10_000, 20_000, 30_000] as const

export const BOUNDS = {
  limit: [1, 500],
  burst: [1, 500],
  atOnce: [1, 100],
  holdMs: [10, 30_000],
} as const satisfies Partial<Record<keyof LimitNumbers, readonly [number, number]>>

export type NumberName = keyof typeof BOUNDS

export const DEFAULTS: PlaygroundSettings = {
  pattern: 'edge',
  drawn: Array<number>(BINS).fill(0),
  limit: 20,
  windowMs: 10_000,
  burst: 10,
  atOnce: 4,
  holdMs: 1_000,
  isShared: true,
}

export function trafficOf({ pattern, drawn }: PlaygroundSettings): Traffic {
  return pattern === 'drawn' ? [drawn] : PATTERNS[pattern].traffic
}

/** isWithin says whether a number may be used: whole, and within its bounds. */
export function isWithin(name: NumberName, value: number): boolean {
  const [least, most] = BOUNDS[name]
  return Number.isInteger(value) && value >= least && value <= most
}

/** readSettings takes from an address what is right in it, and the defaults for the rest. */
export function readSettings(query: URLSearchParams): PlaygroundSettings {
  const whole = (name: NumberName): number => {
    const value = Number(query.get(PARAMETERS[name]) ?? Number.NaN)
    return isWithin(name, value) ? value : DEFAULTS[name]
  }
  const drawn = readBins(query.get('drawn') ?? '')
  const pattern = PATTERN_NAMES.find((name) => name === query.get('pattern')) ?? DEFAULTS.pattern
  const windowMs = WINDOWS_MS.find((each) => String(each) === query.get('window_ms')) ?? DEFAULTS.windowMs
  return {
    pattern: drawn === undefined ? pattern : 'drawn',
    drawn: drawn ?? DEFAULTS.drawn,
    limit: whole('limit'),
    windowMs,
    burst: whole('burst'),
    atOnce: whole('atOnce'),
    holdMs: whole('holdMs'),
    isShared: query.get('each') !== 'own',
  }
}

/** queryOf returns what setQuery takes: what is at its default is left out of the address. */
export function queryOf(settings: PlaygroundSettings): Record<string, string | undefined> {
  const { pattern, drawn, isShared } = settings
  const unless = (name: NumberName | 'windowMs'): string | undefined =>
    settings[name] === DEFAULTS[name] ? undefined : String(settings[name])
  return {
    pattern: pattern === 'drawn' || pattern === DEFAULTS.pattern ? undefined : pattern,
    drawn: pattern === 'drawn' ? formatBins(drawn) : undefined,
    limit: unless('limit'),
    window_ms: unless('windowMs'),
    burst: unless('burst'),
    at_once: unless('atOnce'),
    hold_ms: unless('holdMs'),
    each: isShared ? undefined : 'own',
  }
}

/** The names in the address. */
const PARAMETERS: Record<NumberName, string> = { limit: 'limit', burst: 'burst', atOnce: 'at_once', holdMs: 'hold_ms' }
