import type { LimitTraffic, TrafficPeriod } from '../api/operations.ts'
import { wholeCount } from '../format/count.ts'
import { clockMinute, dayText } from '../format/time.ts'

/** periodTitle says which requests were counted, with times in the zone of the viewer. */
export function periodTitle({ period, from, to }: TrafficPeriod): string {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)]
  const span = `${clockMinute(fromMs)} to ${clockMinute(toMs)}`
  if (period === 'this_hour') return `This hour, ${span}`
  if (period === 'last_hour') return 'The last hour, all callers'
  return `Their busiest hour of the week before, ${dayText(fromMs)}, ${span}`
}

/** afterText says how many requests would have been refused: a number, a range, or that it is unknown. */
export function afterText({ requests, refused_after: after }: LimitTraffic): string {
  if (after === null || requests === null) return 'unknown'
  const { at_least: least, at_most: most } = after
  if (least === most) return least === requests && requests > 0 ? `all ${wholeCount(least)}` : wholeCount(least)
  if (least === 0 && most === requests) return 'unknown'
  return least === 0 ? `up to ${wholeCount(most)}` : `${wholeCount(least)} to ${wholeCount(most)}`
}

/** reasonsOf lists why some are not known exactly, each once, and of which limits. */
export function reasonsOf(limits: readonly LimitTraffic[]): readonly string[] {
  const byWhy = new Map<string, string[]>()
  for (const { why, domain, rule_id } of limits) {
    if (why === null) continue
    const names = byWhy.get(why)
    if (names === undefined) byWhy.set(why, [`${domain}/${rule_id}`])
    else names.push(`${domain}/${rule_id}`)
  }
  if (byWhy.size === 1) return [...byWhy.keys()]
  return [...byWhy].map(([why, names]) => `${names.join(', ')}: ${why}`)
}
