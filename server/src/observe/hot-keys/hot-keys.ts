import type { Decision } from 'sluice/internal/core/combine'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { DoorObserver, ObservedDoor } from '../door-observer.ts'
import { type HotKeysReport, mapTallies, type RuleReport } from './hot-keys-report.ts'
import { type HotKeysBounds, RuleKeys } from './rule-keys.ts'

export const DEFAULT_BOUNDS: HotKeysBounds = {
  maxKeys: 65_536,
  maxRules: 512,
  maxExhausted: 8_192,
  maxSize: 256,
  maxListed: 200,
  maxReported: 6_000,
}

/** The fewest keys that a rule's slices tell apart. */
const MIN_SIZE = 16
/** A rule has so many tallies that are open: all and refused requests, each with up to twice its size. */
const OPEN_A_RULE = 4
/** How often `turn` is called. */
export const TURNS_A_SECOND = 4
/** In how many turns all rules have theirs: at 250 ms each, before the next slice is due. */
const TURNS_FOR_ALL = 32
/** To what part of their bound slices are cut when they are beyond it. */
const FITTED = 0.75
/** How much of all keys the open slices may take: a quarter. */
const OPEN_SHARE = 4

/**
 * HotKeys knows the keys that each rule refuses most, and is asked about most, in bounded memory. Rules share the memory:
 * the more of them have traffic, the fewer keys of each are told apart. A rule without traffic costs nothing. It has no
 * clock: `turn` says what time it is, four times a second.
 */
export class HotKeys implements DoorObserver {
  readonly #bounds: HotKeysBounds
  /** By domain and rule: they outlive a rule that is loaded again. */
  readonly #rules = new Map<string, RuleKeys>()
  readonly #byRule = new WeakMap<Rule, RuleKeys>()
  /** Rules that there was no room for, since there last was. */
  readonly #leftOut = new Set<string>()
  #nowMs: number
  #size: number
  #exhausted = 0

  constructor(nowMs: number, bounds: Partial<HotKeysBounds> = {}) {
    this.#bounds = { ...DEFAULT_BOUNDS, ...bounds }
    this.#nowMs = nowMs
    this.#size = this.#bounds.maxSize
  }

  /** How many keys it holds, a key in several slices several times: never more than `maxKeys` and `maxExhausted` together. */
  get held(): number {
    let held = 0
    for (const rule of this.#rules.values()) held += rule.held
    return held
  }

  /** decided counts the keys of a request. It is on the hot path. */
  decided(_: ObservedDoor, charges: readonly PlannedCharge[], { verdicts }: Decision): void {
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]
      const { verdict } = verdicts[i]
      // What is given back, looked at or charged late is no request of its own.
      if (verdict.unasked === true || charge.cost <= 0 || charge.debit === true) continue
      let rule = this.#byRule.get(charge.rule)
      if (rule === undefined || !rule.isFollowed) rule = this.#found(charge)
      if (rule === undefined) continue
      const room = this.#bounds.maxExhausted - this.#exhausted
      this.#exhausted += rule.decided(charge, verdict, this.#nowMs, this.#size, room)
    }
  }

  /** turn closes what is due and forgets what is old: of a few rules each time, so that no request waits for long. */
  turn(nowMs: number): void {
    this.#nowMs = nowMs
    const due = [...this.#rules.values()].filter((rule) => rule.isDue(nowMs))
    if (due.length === 0) return
    for (const rule of due.slice(0, Math.ceil(due.length / TURNS_FOR_ALL))) {
      rule.turn(nowMs, this.#size, this.#exhausted >= this.#bounds.maxExhausted)
      if (!rule.isEmpty) continue
      rule.isFollowed = false
      this.#rules.delete(rule.name)
    }
    this.#resize()
    this.#fit()
  }

  /** report returns the lists of every rule. */
  report(): HotKeysReport {
    const { maxReported, maxListed } = this.#bounds
    const length = Math.min(maxListed, Math.ceil(maxReported / (6 * Math.max(this.#rules.size, 1))))
    const rules = [...this.#rules.values()].map((rule): RuleReport => {
      const { domain, id, isShadow, exhausted } = rule
      const windows = mapTallies((minutes, ranking) => rule.list(ranking, minutes, length))
      return { domain, rule: id, isShadow, exhausted, windows }
    })
    return { rules, rulesLeftOut: this.#leftOut.size }
  }

  /** #found finds what is followed of a rule by its name, or begins to follow it if there is room. */
  #found(charge: PlannedCharge): RuleKeys | undefined {
    const name = RuleKeys.nameOf(charge)
    const known = this.#rules.get(name)
    if (known === undefined && this.#rules.size >= this.#bounds.maxRules) {
      if (this.#leftOut.size < this.#bounds.maxRules) this.#leftOut.add(name)
      return undefined
    }
    const rule = known ?? new RuleKeys(charge, this.#nowMs)
    this.#byRule.set(charge.rule, rule)
    if (known === undefined) {
      this.#rules.set(name, rule)
      this.#resize()
    }
    return rule
  }

  /** #resize gives each rule its share of what open slices may hold: in halves, so that it is rarely another. */
  #resize(): void {
    const { maxKeys, maxSize, maxRules } = this.#bounds
    if (this.#rules.size < maxRules) this.#leftOut.clear()
    const share = maxKeys / OPEN_SHARE / OPEN_A_RULE / Math.max(this.#rules.size, 1)
    let size = maxSize
    while (size > share && size > MIN_SIZE) size /= 2
    const isLess = size < this.#size
    this.#size = size
    if (isLess) for (const rule of this.#rules.values()) rule.cut(size)
  }

  /** #fit has slices hold fewer keys, the largest first, until all fit. Open slices have their share for themselves. */
  #fit(): void {
    const maxHeld = this.#bounds.maxKeys * (1 - 1 / OPEN_SHARE)
    // Well below the bound, so that it is not to be done at every turn.
    const aim = this.#heldInSlices() > maxHeld ? maxHeld * FITTED : maxHeld
    for (let size = this.#size; size >= 1 && this.#heldInSlices() > aim; size = Math.floor(size / 2)) {
      for (const rule of this.#rules.values()) rule.cut(size)
    }
    this.#exhausted = 0
    for (const rule of this.#rules.values()) this.#exhausted += rule.heldExhausted
  }

  #heldInSlices(): number {
    return this.held - this.#exhausted
  }
}
