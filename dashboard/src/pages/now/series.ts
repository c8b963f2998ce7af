import type { LiveFrame } from '../../api/operations.ts'

/** What a plot shows: times in ms, and a value of each line for every one of them. */
export interface Series {
  readonly times: readonly number[]
  readonly allowed: readonly (number | null)[]
  readonly refused: readonly (number | null)[]
  readonly shadow: readonly (number | null)[]
  readonly p50: readonly (number | null | undefined)[]
  readonly p99: readonly (number | null | undefined)[]
}

/** How much time a plot shows, and how much of it is one point: about 300 points, whatever is shown. */
export const RANGES = {
  '5m': { text: '5 min', spanMs: 300_000, stepMs: 1_000 },
  '15m': { text: '15 min', spanMs: 900_000, stepMs: 3_000 },
  '1h': { text: '1 h', spanMs: 3_600_000, stepMs: 10_000 },
} as const

export type RangeName = keyof typeof RANGES

/** Without frames for so long, nothing is known of the time between. */
const GAP_MS = 4_000

type Range = Pick<(typeof RANGES)[RangeName], 'spanMs' | 'stepMs'>

/**
 * seriesOf draws frames together: steps begin at round times, so a point does not change once its time is over. Rates are means; of
 * times, p50 is the mean by requests and p99 the worst. Where nothing was decided there is no time to show, and the line continues.
 */
export function seriesOf(frames: readonly LiveFrame[], { spanMs, stepMs }: Range): Series {
  const series = { times: [], allowed: [], refused: [], shadow: [], p50: [], p99: [] } satisfies Series as Drawn
  const last = frames.at(-1)
  if (last === undefined) return series
  let at = firstAfter(frames, last.at_ms - spanMs - stepMs)
  let endedMs = frames[at].at_ms
  while (at < frames.length) {
    const from = at
    const step = Math.floor(frames[at].at_ms / stepMs)
    if (frames[at].at_ms - endedMs > GAP_MS) breakAt(series, endedMs + 1)
    while (at < frames.length && Math.floor(frames[at].at_ms / stepMs) === step) at++
    endedMs = frames[at - 1].at_ms
    point(series, frames, from, at)
  }
  return series
}

type Drawn = { [K in keyof Series]: Series[K] extends readonly (infer V)[] ? V[] : never }

function point(series: Drawn, frames: readonly LiveFrame[], from: number, to: number): void {
  let [allowed, refused, shadow, weighed, p99] = [0, 0, 0, 0, 0]
  for (let i = from; i < to; i++) {
    const frame = frames[i]
    allowed += frame.allowed
    refused += frame.refused
    shadow += frame.shadow_refused
    weighed += frame.p50_ms * (frame.allowed + frame.refused)
    p99 = Math.max(p99, frame.p99_ms)
  }
  const count = to - from
  const requests = allowed + refused
  series.times.push(frames[to - 1].at_ms)
  series.allowed.push(allowed / count)
  series.refused.push(refused / count)
  series.shadow.push(shadow / count)
  series.p50.push(requests === 0 ? undefined : weighed / requests)
  series.p99.push(requests === 0 ? undefined : p99)
}

function breakAt(series: Drawn, ms: number): void {
  series.times.push(ms)
  for (const values of [series.allowed, series.refused, series.shadow, series.p50, series.p99]) values.push(null)
}

/** firstAfter is the place of the first frame after a time. */
function firstAfter(frames: readonly LiveFrame[], ms: number): number {
  let [low, high] = [0, frames.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (frames[middle].at_ms > ms) high = middle
    else low = middle + 1
  }
  return low
}
