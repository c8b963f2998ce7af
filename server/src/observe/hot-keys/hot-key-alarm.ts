import type { HotKeysReport, RuleReport } from './hot-keys-report.ts'

/** When a key takes an unusual share of a rule's requests. */
export interface HotKeyLimits {
  /** More than this share of a rule's requests in the last minute, of 1. From 1 on: nothing is unusual. */
  readonly share: number
  /** The minimum number of requests in that minute. */
  readonly minRequests: number
  /** The minimum number of other keys: among a few, one of them having most is not news. */
  readonly minOthers: number
}

export const DEFAULT_HOT_KEY_LIMITS: HotKeyLimits = { share: 0.5, minRequests: 1_000, minOthers: 10 }

/** A key that takes an unusual share. */
export interface HotKey {
  readonly domain: string
  readonly rule: string
  readonly key: string
  /** Requests in the last minute, and their share of the rule's. */
  readonly requests: number
  readonly share: number
}

/** The numbers of a rule for metrics: how often a key became hot, and how many keys are at 0 for long. */
export interface HotKeyFigures {
  readonly domain: string
  readonly rule: string
  readonly detected: number
  readonly exhausted: number
}

/** A hot key stays hot until it has fallen to this part of both bounds, so that one near them is reported once. */
const ENDS_AT = 0.5
/** Rules whose detections are counted separately; all others are counted as `other`. */
const MAX_COUNTED = 1_000

/** Notices keys that begin to take an unusual share of a rule's requests: each once, until it has ended. */
export class HotKeyAlarm {
  readonly #limits: HotKeyLimits
  readonly #notify: (hot: HotKey) => void
  /** By rule: its hot keys. */
  readonly #hot = new Map<string, ReadonlySet<string>>()
  readonly #detected = new Map<string, { domain: string; rule: string; detected: number }>()

  constructor(limits: HotKeyLimits, notify: (hot: HotKey) => void) {
    this.#limits = limits
    this.#notify = notify
  }

  /** Reports keys that are hot and were not at the last look. */
  look({ rules }: HotKeysReport): void {
    if (this.#limits.share >= 1) return
    const before = new Map(this.#hot)
    this.#hot.clear()
    for (const report of rules) {
      const name = JSON.stringify([report.domain, report.rule])
      const hot = this.#hotKeys(report, before.get(name) ?? NONE)
      if (hot.size > 0) this.#hot.set(name, hot)
    }
  }

  /** Returns the figures of all rules that have any. */
  figures({ rules }: HotKeysReport): readonly HotKeyFigures[] {
    const figures = new Map<string, HotKeyFigures>()
    for (const [name, counts] of this.#detected) figures.set(name, { ...counts, exhausted: 0 })
    for (const { domain, rule, exhausted } of rules) {
      const name = JSON.stringify([domain, rule])
      figures.set(name, { domain, rule, detected: this.#detected.get(name)?.detected ?? 0, exhausted })
    }
    return [...figures.values()]
  }

  #hotKeys({ domain, rule, windows }: RuleReport, before: ReadonlySet<string>): ReadonlySet<string> {
    const { share, minRequests, minOthers } = this.#limits
    const { total, keys, tracked, missed } = windows[1].active
    const hot = new Set<string>()
    // Where some were missed, there are many.
    const hasOthers = tracked > minOthers || missed > 0
    for (const [key, requests] of keys) {
      const wasHot = before.has(key)
      const bound = wasHot ? ENDS_AT : 1
      if (requests < minRequests * bound || requests <= total * share * bound) continue
      if (!wasHot && !hasOthers) continue
      hot.add(key)
      if (wasHot) continue
      this.#count(domain, rule)
      this.#notify({ domain, rule, key, requests, share: requests / total })
    }
    return hot
  }

  #count(domain: string, rule: string): void {
    const name = JSON.stringify([domain, rule])
    const isNew = !this.#detected.has(name)
    const counts = isNew && this.#detected.size >= MAX_COUNTED ? this.#other() : this.#detected.get(name)
    if (counts === undefined) this.#detected.set(name, { domain, rule, detected: 1 })
    else counts.detected++
  }

  #other(): { domain: string; rule: string; detected: number } {
    const other = this.#detected.get(OTHER) ?? { domain: 'other', rule: 'other', detected: 0 }
    this.#detected.set(OTHER, other)
    return other
  }
}

const NONE: ReadonlySet<string> = new Set()
const OTHER = JSON.stringify(['other', 'other'])
