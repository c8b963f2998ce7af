import type { Verdict } from 'sluice/internal/core/decision'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { ExhaustedKeys } from './exhausted-keys.ts'
import { mapTallies, type Ranking, type RuleReport } from './hot-keys-report.ts'
import type { Counted } from './key-tally.ts'
import { KeyWindows, SLICE_MS } from './key-windows.ts'
import { Sample } from './sample.ts'
import type { Steps } from './steps.ts'

/** What a process spends on knowing its keys. */
export interface HotKeysBounds {
  /** Keys in all slices of all rules. */
  readonly maxKeys: number
  /** Keys in the hours before the last one, of all rules. */
  readonly maxDayKeys: number
  readonly maxRules: number
  /** Keys at 0 remaining that are followed. */
  readonly maxExhausted: number
  /** How many keys a slice of a rule tracks, if few rules have traffic. */
  readonly maxSize: number
  /** Keys in a list of a report, and in all its lists together. */
  readonly maxListed: number
  readonly maxReported: number
}

/** How many keys the slices of the last hour hold, and of the hours before. */
export interface SliceSizes {
  readonly closed: number
  readonly hour: number
}

/** The longest key that is followed. Of one that is longer, that much: all that begin like it are one. */
export const MAX_KEY = 512

/** Knows the keys of one rule. */
export class RuleKeys {
  readonly name: string
  readonly domain: string
  readonly id: string
  isShadow = false
  /** False when it was forgotten: its rule must be looked up again. */
  isFollowed = true
  readonly #windows: Readonly<Record<Ranking, KeyWindows>>
  readonly #exhausted = new ExhaustedKeys()
  readonly #sample = new Sample()
  #turnedMs: number

  /** Returns the unique name of a rule. */
  static nameOf({ domain, rule }: PlannedCharge): string {
    return `${domain}\0${rule.id}`
  }

  constructor(charge: PlannedCharge, nowMs: number) {
    this.name = RuleKeys.nameOf(charge)
    this.domain = charge.domain
    this.id = charge.rule.id
    this.#turnedMs = nowMs
    this.#windows = { active: new KeyWindows(nowMs), refused: new KeyWindows(nowMs) }
  }

  get held(): number {
    return this.#windows.active.held + this.#windows.refused.held + this.#exhausted.held
  }

  get heldExhausted(): number {
    return this.#exhausted.held
  }

  get heldClosed(): number {
    return this.#windows.active.heldClosed + this.#windows.refused.heldClosed
  }

  get isEmpty(): boolean {
    return this.#windows.active.isEmpty && this.#exhausted.held === 0
  }

  /** The rule had no requests within the last hour. */
  get isQuiet(): boolean {
    return this.#windows.active.isQuiet && this.#exhausted.held === 0
  }

  /** Counts a request's key, and returns how many more keys at 0 it follows. It is on the hot path. */
  decided({ key, enforce }: PlannedCharge, verdict: Verdict, nowMs: number, size: number, room: number): number {
    const weight = verdict.allowed ? this.#sample.weight() : 1
    // Nearly always, where there is much to do.
    if (weight === 0 && verdict.remaining > 0) return 0
    const counted = key.length > MAX_KEY ? `${key.slice(0, MAX_KEY)}…` : key
    this.isShadow = !enforce
    if (weight > 0) this.#windows.active.add(counted, size, weight)
    if (!verdict.allowed) this.#windows.refused.add(counted, size)
    // What a rule does without the store says nothing of the key, and one that admits nothing has no budget to run out
    // of.
    if (verdict.fallback !== undefined || verdict.limit === 0) return 0
    const before = this.#exhausted.held
    if (verdict.remaining > 0) this.#exhausted.above(counted)
    else this.#exhausted.atZero(counted, nowMs, room)
    return this.#exhausted.held - before
  }

  isDue(nowMs: number): boolean {
    return nowMs - this.#turnedMs >= SLICE_MS
  }

  /** Closes slices, as small as `sizes` say, and forgets what is old. */
  *turn(nowMs: number, sizes: SliceSizes, isCrowded: boolean): Steps {
    this.#turnedMs = nowMs
    this.#sample.turn()
    yield* this.#windows.active.turn(nowMs, sizes.closed, sizes.hour)
    yield* this.#windows.refused.turn(nowMs, sizes.closed, sizes.hour)
    yield* this.#exhausted.turn(nowMs, isCrowded)
  }

  /** Has no open slice hold more keys than that. */
  cutOpen(size: number): void {
    this.#windows.active.cutOpen(size)
    this.#windows.refused.cutOpen(size)
  }

  /** Has no closed slice hold more keys than that. */
  *cutClosed(size: number): Steps {
    yield* this.#windows.active.cutClosed(size)
    yield* this.#windows.refused.cutClosed(size)
  }

  *report(length: number): Steps<RuleReport> {
    const lists = {
      refused: yield* this.#windows.refused.lists(length),
      active: yield* this.#windows.active.lists(length),
    }
    const windows = mapTallies((minutes, ranking) => {
      const list = lists[ranking][minutes]
      return { ...list, keys: list.keys.map(([key, count]): Counted => [shownKey(key), count]) }
    })
    const { domain, id, isShadow } = this
    yield this.#exhausted.held
    return { domain, rule: id, isShadow, exhausted: this.#exhausted.count(), windows }
  }
}

/**
 * Returns the part of a counter's key that identifies the caller: `user=42` of `sluice:{17}:api|user|user=42`. Domain
 * and rule are stored separately, and separators inside them are escaped.
 */
export function shownKey(key: string): string {
  const start = key.indexOf('}:') + 1
  const rule = key.indexOf('|', start)
  const caller = rule < 0 ? -1 : key.indexOf('|', rule + 1)
  return caller < 0 ? key : key.slice(caller + 1)
}
