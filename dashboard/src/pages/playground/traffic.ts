/** Traffic is a minute of requests, in bins of half a second: how many come in each, for every caller. */
export type Traffic = readonly (readonly number[])[]

export const SPAN_MS = 60_000
export const BIN_MS = 500
export const BINS = SPAN_MS / BIN_MS
/** The most requests in one bin. */
export const MOST = 20

export interface Request {
  readonly atMs: number
  readonly caller: number
}

const clamp = (count: number): number => Math.min(MOST, Math.max(0, Math.round(count)))

const bins = (rate: (atSeconds: number, bin: number) => number): readonly number[] =>
  Array.from({ length: BINS }, (_, bin) => clamp(rate((bin * BIN_MS) / 1000, bin)))

/** Refused callers retry after 1, 2, 4, 8 and 16 seconds, all at the same time, a few less each time. */
const RETRIES = new Map([1, 3, 7, 15, 31].map((seconds, i) => [5 + seconds, MOST - 2 * i]))

/** A Pattern is traffic that is known by a name. The same name is always the same traffic. */
export interface Pattern {
  readonly title: string
  readonly about: string
  /** Who the callers are, where there is more than one. */
  readonly callers?: readonly string[]
  readonly traffic: Traffic
}

export const PATTERNS = {
  steady: { title: 'Steady', about: 'Four requests a second, evenly.', traffic: [bins(() => 2)] },
  edge: {
    title: 'Burst at the edge',
    about: 'Quiet, then a burst at the end of a window and another at the start of the next.',
    traffic: [bins((at) => (at % 20 === 9.5 || at % 20 === 10 ? MOST : at % 20 === 14 || at % 20 === 17 ? 1 : 0))],
  },
  storm: {
    title: 'Retry storm',
    about: 'An outage ends at 5 s. All failed callers retry after 1, 2, 4, 8 and 16 s, at the same time.',
    traffic: [bins((at) => RETRIES.get(at) ?? 1)],
  },
  ramp: { title: 'Ramp', about: 'A launch: more every second.', traffic: [bins((_, bin) => (bin / BINS) * 8)] },
  wave: {
    title: 'Daily wave',
    about: 'A day in a minute: nights and a busy afternoon.',
    traffic: [bins((at) => 2.5 - 2.5 * Math.cos((2 * Math.PI * (at - 6)) / 60))],
  },
  greedy: {
    title: 'Slow and greedy',
    about: 'One caller asks once a second. Another takes all that it can get.',
    callers: ['Slow caller', 'Greedy caller'],
    traffic: [bins((_, bin) => (bin + 1) % 2), bins((at) => (at >= 10 && at < 50 ? 6 : 0))],
  },
  onoff: {
    title: 'On and off',
    about: 'A batch job: five seconds at full speed, ten of nothing.',
    traffic: [bins((at) => (at % 15 < 5 ? 8 : 0))],
  },
} as const satisfies Record<string, Pattern>

export type PatternName = keyof typeof PATTERNS
export const PATTERN_NAMES = Object.keys(PATTERNS) as readonly PatternName[]

/**
 * requestsOf returns the requests in the order in which they come. Each has its moment within its bin, which looks random,
 * and is always the same: callers that were exact to the millisecond would find their own place free again, window after window.
 */
export function requestsOf(traffic: Traffic): Request[] {
  const all = traffic.flatMap((counts, caller) =>
    counts.flatMap((count, bin) =>
      Array.from({ length: count }, (_, i) => ({
        atMs: bin * BIN_MS + Math.floor(((i + scattered(bin, i, caller)) * BIN_MS) / count),
        caller,
      })),
    ),
  )
  return all.sort((a, b) => a.atMs - b.atMs || a.caller - b.caller)
}

/** scattered is a number from 0 to below 1 that follows from the others, evenly (a step of splitmix32). */
function scattered(bin: number, i: number, caller: number): number {
  let hash = Math.imul(bin * 64 + i * 2 + caller + 1, 0x9e3779b9)
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad)
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97)
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32
}

/** totalsOf returns how many requests of all callers come in each bin. */
export function totalsOf(traffic: Traffic): readonly number[] {
  return Array.from({ length: BINS }, (_, bin) => clamp(traffic.reduce((sum, counts) => sum + (counts[bin] ?? 0), 0)))
}

/** formatBins writes bins for an address: a digit of base 36 for each, and a repeated one as `2*120.`. */
export function formatBins(counts: readonly number[]): string {
  const digits = counts.map((count) => clamp(count).toString(36)).join('')
  return digits.replace(/(.)\1{3,}/g, (run, digit: string) => `${digit}*${run.length}.`)
}

/** readBins reads what formatBins writes; undefined is anything else. */
export function readBins(text: string): readonly number[] | undefined {
  if (text.length > 2 * BINS || !/^(?:[0-9a-z](?:\*\d{1,3}\.)?)+$/.test(text)) return undefined
  const digits = text.replace(/(.)\*(\d+)\./g, (_, digit: string, times: string) => digit.repeat(Number(times)))
  if (digits.length !== BINS) return undefined
  return [...digits].map((digit) => clamp(Number.parseInt(digit, 36)))
}

/** drawTo sets the bins from one to another, as a pointer that moved between them would. */
export function drawTo(
  counts: readonly number[],
  from: { readonly bin: number; readonly count: number },
  to: { readonly bin: number; readonly count: number },
): readonly number[] {
  const drawn = [...counts]
  const steps = Math.max(1, Math.abs(to.bin - from.bin))
  for (let i = 0; i <= steps; i++) {
    const bin = Math.round(from.bin + ((to.bin - from.bin) * i) / steps)
    if (bin >= 0 && bin < BINS) drawn[bin] = clamp(from.count + ((to.count - from.count) * i) / steps)
  }
  return drawn
}
