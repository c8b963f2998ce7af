/** What one rule did in the last minute and in the last hour: allowed, refused, refused in shadow. Plain data. */
export type ActivityRow = readonly [
  domain: string,
  id: string,
  minute: readonly [allowed: number, refused: number, shadowRefused: number],
  hour: readonly [allowed: number, refused: number, shadowRefused: number],
]

/** What the rules of a process, a node or a fleet did lately, the busiest first. */
export interface ActivityReport {
  readonly rules: readonly ActivityRow[]
  /** How many more rules were asked about in the last hour. */
  readonly left: number
}

/**
 * How many rules are followed. Each takes some 500 bytes and its names: 3 MB in all, where ids have a hundred
 * characters.
 */
export const MAX_ACTIVE_RULES = 5_000
const COUNTS = 3
/**
 * The last minute is made of slots of ten seconds, the last hour of slots of five minutes; one more of each is being
 * filled.
 */
const RINGS = [
  { slotMs: 10_000, slots: 7, at: 0 },
  { slotMs: 300_000, slots: 13, at: 7 * COUNTS },
] as const
const WIDTH = 20 * COUNTS

interface Followed {
  readonly domain: string
  readonly id: string
  readonly counts: Uint32Array
  /** By ring: the slot that was counted into last. */
  readonly last: [number, number]
}

/**
 * Knows what each rule did in the last minute and hour: the last 60 to 70 seconds, and 60 to 65 minutes. Updated once a
 * second, not by each decision.
 */
export class RecentActivity {
  readonly #followed = new Map<string, Followed>()
  readonly #left = new Set<string>()
  #sweptMs = Number.NEGATIVE_INFINITY

  /** Counts what a rule did since the last call. */
  add(
    { domain, id, allowed, refused, shadowRefused }: Readonly<Record<'domain' | 'id', string>> & Counts,
    nowMs: number,
  ): void {
    const rule = this.#of(domain, id, nowMs)
    if (rule === undefined) return
    RINGS.forEach(({ at, slotMs, slots }, ring) => {
      const slot = Math.floor(nowMs / slotMs)
      forget(rule, ring, slot)
      const from = at + (slot % slots) * COUNTS
      rule.counts[from] += allowed
      rule.counts[from + 1] += refused
      rule.counts[from + 2] += shadowRefused
    })
  }

  report(nowMs: number): ActivityReport {
    const rules = this.#sweep(nowMs)
    return { rules: rules.sort(byActivity), left: this.#left.size }
  }

  #of(domain: string, id: string, nowMs: number): Followed | undefined {
    const name = `${domain}\0${id}`
    const known = this.#followed.get(name)
    if (known !== undefined) return known
    if (this.#followed.size >= MAX_ACTIVE_RULES && nowMs - this.#sweptMs >= SWEEP_MS) this.#sweep(nowMs)
    if (this.#followed.size >= MAX_ACTIVE_RULES) {
      if (this.#left.size < MAX_ACTIVE_RULES) this.#left.add(name)
      return undefined
    }
    const made: Followed = { domain, id, counts: new Uint32Array(WIDTH), last: [0, 0] }
    this.#followed.set(name, made)
    this.#left.delete(name)
    return made
  }

  /** Drops rules without requests for an hour, and returns what the others did. */
  #sweep(nowMs: number): ActivityRow[] {
    const before = this.#followed.size
    const rows: ActivityRow[] = []
    this.#sweptMs = nowMs
    for (const [name, rule] of this.#followed) {
      const row = rowOf(rule, nowMs)
      if (hasHour(row)) rows.push(row)
      else this.#followed.delete(name)
    }
    if (this.#followed.size < before) this.#left.clear()
    return rows
  }
}

type Counts = Readonly<Record<'allowed' | 'refused' | 'shadowRefused', number>>

const SWEEP_MS = 60_000

/**
 * Clears the slots that have passed since the last count. When the clock moves backwards, counting continues in the
 * same slot.
 */
function forget(rule: Followed, ring: number, slot: number): void {
  const { at, slots } = RINGS[ring]
  const passed = Math.min(slot - rule.last[ring], slots)
  for (let i = 0; i < passed; i++) {
    const from = at + ((slot - i) % slots) * COUNTS
    rule.counts.fill(0, from, from + COUNTS)
  }
  if (passed > 0) rule.last[ring] = slot
}

function rowOf(rule: Followed, nowMs: number): ActivityRow {
  const [minute, hour] = RINGS.map(({ at, slotMs, slots }, ring) => {
    forget(rule, ring, Math.floor(nowMs / slotMs))
    const sums: [number, number, number] = [0, 0, 0]
    for (let i = 0; i < slots * COUNTS; i++) sums[i % COUNTS] += rule.counts[at + i]
    return sums
  })
  return [rule.domain, rule.id, minute, hour]
}

function hasHour([, , , hour]: ActivityRow): boolean {
  return hour[0] + hour[1] + hour[2] > 0
}

/** Orders rules: the busiest of the last hour first. */
function byActivity([, idA, , a]: ActivityRow, [, idB, , b]: ActivityRow): number {
  const more = b[0] + b[1] + b[2] - (a[0] + a[1] + a[2])
  if (more !== 0 || idA === idB) return more
  return idA < idB ? -1 : 1
}

/** Adds up the reports of several processes or nodes. */
export function mergeActivity(reports: readonly ActivityReport[]): ActivityReport {
  const byName = new Map<string, ActivityRow>()
  for (const { rules } of reports) {
    for (const row of rules) {
      const [domain, id, minute, hour] = row
      const name = `${domain}\0${id}`
      const known = byName.get(name)
      byName.set(name, known === undefined ? row : [domain, id, plus(known[2], minute), plus(known[3], hour)])
    }
  }
  const rules = [...byName.values()].sort(byActivity)
  const cut = Math.max(0, rules.length - MAX_ACTIVE_RULES)
  // Rows that several have omitted may be the same.
  const left = cut + Math.max(0, ...reports.map((report) => report.left))
  return { rules: rules.slice(0, MAX_ACTIVE_RULES), left }
}

function plus(a: ActivityRow[2], b: ActivityRow[2]): ActivityRow[2] {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}
