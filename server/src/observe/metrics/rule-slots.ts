import type { Rule, RuleSet } from 'sluice/internal/core/rules/rule-set'
import { OVERRIDE_ID } from 'sluice/internal/engine/plan'
import { labelsOf } from './labels.ts'
import { rulesOf } from './rules-of.ts'

/** Where something is counted: a row of a table, and the labels of that row. */
export interface Slot {
  row: number
  readonly labels: string
}

/** Where a rule is counted, and where the callers of its domain and tier are. */
export interface RuleSlot {
  readonly counts: Slot
  readonly remaining: Slot
}

/** Events about the rows that must be zero before another rule gets them. */
export interface SlotEvents {
  /** There are this many rows from now on. */
  grown(rows: number): void
  freed(row: number): void
}

/** Assigns rows to names, up to a maximum, and takes them back from names that are no longer wanted. */
class SlotTable {
  readonly #byName = new Map<string, Slot>()
  readonly #free: number[] = []
  readonly #events: SlotEvents
  readonly #most: number
  readonly other: Slot
  #rows = 0

  constructor(most: number, other: string, events: SlotEvents) {
    this.#most = most
    this.#events = events
    this.other = this.#add(other)
  }

  get(name: string): Slot | undefined {
    return this.#byName.get(name)
  }

  /** Has these names have rows, as far as there is room, and others none where theirs are needed. */
  keep(wanted: ReadonlyMap<string, string>): void {
    const missing = [...wanted].filter(([name]) => !this.#byName.has(name))
    let excess = this.#byName.size + missing.length - this.#most
    for (const [name, slot] of this.#byName) {
      if (excess <= 0) break
      if (wanted.has(name)) continue
      this.#drop(name, slot)
      excess--
    }
    for (const [name, labels] of missing) {
      if (this.#byName.size < this.#most) this.#byName.set(name, this.#add(labels))
    }
  }

  *list(): Iterable<Slot> {
    yield this.other
    yield* this.#byName.values()
  }

  #add(labels: string): Slot {
    const row = this.#free.pop() ?? this.#rows++
    this.#events.grown(this.#rows)
    return { row, labels }
  }

  /** Frees a row. Decisions in flight that know the slot count as others from now on. */
  #drop(name: string, slot: Slot): void {
    this.#byName.delete(name)
    this.#free.push(slot.row)
    this.#events.freed(slot.row)
    slot.row = this.other.row
  }
}

const OTHER = { domain: 'other', rule: 'other' } as const

/**
 * Finds where a rule is counted. The first rules of the set in force have separate rows, up to a maximum; all others,
 * and limits that requests bring, share one. So only the authors of rules create series.
 */
export class RuleSlots {
  readonly #rules: () => RuleSet
  readonly #most: number
  readonly #counts: SlotTable
  readonly #remaining: SlotTable
  readonly #other: RuleSlot
  readonly #overrides: RuleSlot
  #byRule = new WeakMap<Rule, RuleSlot>()
  #listed: RuleSet | undefined

  constructor(rules: () => RuleSet, most: number, counts: SlotEvents, remaining: SlotEvents) {
    this.#rules = rules
    this.#most = most
    this.#counts = new SlotTable(most + 1, labelsOf(OTHER), counts)
    this.#remaining = new SlotTable(most, labelsOf({ domain: OTHER.domain, tier: 'none' }), remaining)
    this.#other = { counts: this.#counts.other, remaining: this.#remaining.other }
    this.#overrides = this.#other
    this.#counts.keep(new Map([[OVERRIDE_ID, labelsOf({ domain: OTHER.domain, rule: 'override' })]]))
    const own = this.#counts.get(OVERRIDE_ID)
    if (own !== undefined) this.#overrides = { counts: own, remaining: this.#remaining.other }
  }

  /** Returns where a rule is counted. It is on the hot path. */
  of(rule: Rule, domain: string): RuleSlot {
    return this.#byRule.get(rule) ?? this.#find(rule, domain)
  }

  /** Lists the rows of rules, including the rules in force. */
  counts(): Iterable<Slot> {
    this.#list()
    return this.#counts.list()
  }

  remaining(): Iterable<Slot> {
    return this.#remaining.list()
  }

  #find(rule: Rule, domain: string): RuleSlot {
    if (rule.id === OVERRIDE_ID) return this.#overrides
    this.#list()
    const listed = this.#byRule.get(rule)
    if (listed !== undefined) return listed
    // A rule that was made for one caller has the id of its pattern.
    const counts = this.#counts.get(nameOf(domain, rule.id))
    const remaining = this.#remaining.get(nameOf(domain, 'none'))
    const slot = { counts: counts ?? this.#other.counts, remaining: remaining ?? this.#other.remaining }
    this.#byRule.set(rule, slot)
    return slot
  }

  /** Gives rows to the rules in force. It costs as much as there are rows, and nothing while the rules stay. */
  #list(): void {
    const rules = this.#rules()
    if (rules === this.#listed) return
    this.#listed = rules
    // Rules that stay through a reload are other objects then.
    this.#byRule = new WeakMap()
    const counted = new Map([[OVERRIDE_ID, '']])
    const tiers = new Map<string, string>()
    const found: [rule: Rule, counts: string, remaining: string][] = []
    for (const { domain, rule, tier = 'none' } of rulesOf(rules)) {
      const [name, tierName] = [nameOf(domain, rule.id), nameOf(domain, tier)]
      if (!counted.has(name) && counted.size > this.#most) break
      counted.set(name, labelsOf({ domain, rule: rule.id }))
      tiers.set(tierName, labelsOf({ domain, tier }))
      found.push([rule, name, tierName])
    }
    this.#counts.keep(counted)
    this.#remaining.keep(tiers)
    for (const [rule, name, tierName] of found) {
      const counts = this.#counts.get(name) ?? this.#other.counts
      this.#byRule.set(rule, { counts, remaining: this.#remaining.get(tierName) ?? this.#other.remaining })
    }
  }
}

/** Joins names so that no two pairs have the same result. */
function nameOf(domain: string, name: string): string {
  return `${domain.length} ${domain} ${name}`
}
