import type { Decision } from 'sluice/internal/core/combine'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { DoorObserver, ObservedDoor } from '../door-observer.ts'
import { type HotKeysReport, LISTS, type RuleReport } from './hot-keys-report.ts'
import { SLICE_MS } from './key-windows.ts'
import { type HotKeysBounds, RuleKeys } from './rule-keys.ts'
import { advance, atOnce, inTurns, KEYS_A_TURN, type Steps } from './steps.ts'

export const DEFAULT_BOUNDS: HotKeysBounds = {
  maxKeys: 65_536,
  maxDayKeys: 24_576,
  maxRules: 512,
  maxExhausted: 8_192,
  maxSize: 256,
  maxListed: 200,
  maxReported: 6_000,
}

/** The fewest keys that a rule's slices track. */
const MIN_SIZE = 8
/** The number of open tallies per rule: all and refused requests, each with up to twice its size. */
const OPEN_A_RULE = 4
/** The number of hours per rule before the last one: of all and of refused requests. */
const HOURS_A_RULE = 48
const MAX_HOUR_SIZE = 64
/** How often `turn` is called. */
export const TURNS_A_SECOND = 10
/** The part of their bound to which closed slices are cut when they reach it, and below which they may grow again. */
const FITTED = 0.75
const ROOMY = 0.33
/** How much of all keys the open slices may take: a quarter. */
const OPEN_SHARE = 4

/**
 * Tracks the keys that each rule refuses most, and sees most, in bounded memory. Rules share the memory: the more of
 * them have traffic, the fewer keys of each are tracked. A rule without traffic costs nothing. It has no clock: `turn`
 * passes the time, ten times a second. Work other than counting is done in steps: a turn touches a few thousand keys,
 * however many there are.
 */
export class HotKeys implements DoorObserver {
  readonly #bounds: HotKeysBounds
  /** By domain and rule: they outlive a rule that is loaded again. */
  readonly #rules = new Map<string, RuleKeys>()
  readonly #byRule = new WeakMap<Rule, RuleKeys>()
  /** Rules that there was no room for, since there last was. */
  readonly #leftOut = new Set<string>()
  #nowMs: number
  /** How many keys an open slice tracks, and a closed one. */
  #size: number
  #closedSize: number
  #exhausted = 0
  #roomyMs = 0
  /** The work in progress, and the rules that are still to be processed for the next. */
  #work: Steps | undefined
  #round: Iterator<RuleKeys> | undefined
  /** The rules whose open slices may be larger than they should. */
  #larger: Iterator<RuleKeys> | undefined

  constructor(nowMs: number, bounds: Partial<HotKeysBounds> = {}) {
    this.#bounds = { ...DEFAULT_BOUNDS, ...bounds }
    this.#nowMs = nowMs
    this.#size = this.#bounds.maxSize
    this.#closedSize = this.#size
  }

  /**
   * How many keys it holds, a key in several slices several times: never more than `maxKeys`, `maxDayKeys` and
   * `maxExhausted` together.
   */
  get held(): number {
    let held = 0
    for (const rule of this.#rules.values()) held += rule.held
    return held
  }

  /** Counts the keys of a request. It is on the hot path. */
  decided(_: ObservedDoor, charges: readonly PlannedCharge[], { verdicts }: Decision): void {
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]
      const { verdict } = verdicts[i]
      // Refunds, looks and late charges are not requests.
      if (verdict.unasked === true || charge.cost <= 0 || charge.debit === true) continue
      let rule = this.#byRule.get(charge.rule)
      if (rule === undefined || !rule.isFollowed) rule = this.#found(charge)
      if (rule === undefined) continue
      const room = this.#bounds.maxExhausted - this.#exhausted
      this.#exhausted += rule.decided(charge, verdict, this.#nowMs, this.#size, room)
    }
  }

  /** Closes what is due and forgets what is old, bit by bit. It returns how many keys it touched. */
  turn(nowMs: number): number {
    this.#nowMs = nowMs
    let touched = 0
    while (touched < KEYS_A_TURN) {
      this.#work ??= this.#nextWork()
      if (this.#work === undefined) break
      const { touched: more, done } = advance(this.#work, KEYS_A_TURN - touched)
      touched += more
      if (done !== undefined) this.#work = undefined
    }
    return touched
  }

  /** Returns the lists of every rule. It takes milliseconds where there is much: `gather` does not block for that. */
  report(): HotKeysReport {
    return atOnce(this.reporting())
  }

  /** Like report, in steps: requests are answered in between. */
  gather(): Promise<HotKeysReport> {
    return inTurns(this.reporting())
  }

  *reporting(): Steps<HotKeysReport> {
    const { maxReported, maxListed } = this.#bounds
    const length = Math.min(maxListed, Math.ceil(maxReported / (LISTS * Math.max(this.#rules.size, 1))))
    const rules: RuleReport[] = []
    for (const rule of [...this.#rules.values()]) rules.push(yield* rule.report(length))
    return { rules, rulesLeftOut: this.#leftOut.size }
  }

  /** Goes round all rules, so that each has its turn however much there is to do. Undefined: none is due. */
  #nextWork(): Steps | undefined {
    for (let rounds = 0; rounds < 2; rounds++) {
      this.#round ??= this.#rules.values()
      for (let next = this.#round.next(); next.done !== true; next = this.#round.next()) {
        if (next.value.isDue(this.#nowMs)) return this.#turnRule(next.value)
      }
      this.#round = undefined
    }
    return undefined
  }

  *#turnRule(rule: RuleKeys): Steps {
    yield* this.#fit()
    const sizes = { closed: Math.min(this.#size, this.#closedSize), hour: this.#hourSize }
    yield* rule.turn(this.#nowMs, sizes, this.#exhausted >= this.#bounds.maxExhausted)
    // A rule with a day's data makes room for one that has requests now.
    if (rule.isEmpty || (this.#rules.size >= this.#bounds.maxRules && rule.isQuiet)) {
      rule.isFollowed = false
      this.#rules.delete(rule.name)
    }
    this.#exhausted = 0
    for (const { heldExhausted } of this.#rules.values()) this.#exhausted += heldExhausted
    this.#resize()
  }

  /** How many keys each hour before the last one may hold: all rules share what there is. */
  get #hourSize(): number {
    const share = Math.floor(this.#bounds.maxDayKeys / (HOURS_A_RULE * Math.max(this.#rules.size, 1)))
    return Math.max(1, Math.min(MAX_HOUR_SIZE, share))
  }

  /** Finds what is followed of a rule by its name, or begins to follow it if there is room. */
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

  /** Gives each rule its share of what open slices may hold: in halves, so that it is rarely another. */
  #resize(): void {
    const { maxKeys, maxSize, maxRules } = this.#bounds
    if (this.#rules.size < maxRules) this.#leftOut.clear()
    const share = maxKeys / OPEN_SHARE / OPEN_A_RULE / Math.max(this.#rules.size, 1)
    let size = maxSize
    while (size > share && size > MIN_SIZE) size /= 2
    if (size < this.#size) this.#larger = this.#rules.values()
    this.#size = size
    // Each rule that comes has an earlier one make room: in halves, there are as many of them.
    const larger = this.#larger?.next()
    if (larger?.done === true) this.#larger = undefined
    else larger?.value.cutOpen(size)
  }

  /**
   * Has closed slices hold fewer keys, the largest first, before there is no room for two more. Open ones have theirs.
   */
  *#fit(): Steps {
    const maxHeld = this.#bounds.maxKeys * (1 - 1 / OPEN_SHARE)
    const held = this.#heldClosed()
    if (held < maxHeld * ROOMY && this.#nowMs - this.#roomyMs >= SLICE_MS) {
      this.#roomyMs = this.#nowMs
      this.#closedSize = Math.min(2 * this.#closedSize, this.#bounds.maxSize)
    }
    if (held + 2 * Math.min(this.#size, this.#closedSize) <= maxHeld) return
    // Well below the bound, so that it is rarely done.
    while (this.#closedSize > 1 && this.#heldClosed() > maxHeld * FITTED) {
      this.#closedSize = Math.ceil(this.#closedSize / 2)
      for (const rule of this.#rules.values()) yield* rule.cutClosed(this.#closedSize)
    }
  }

  #heldClosed(): number {
    let held = 0
    for (const rule of this.#rules.values()) held += rule.heldClosed
    return held
  }
}
