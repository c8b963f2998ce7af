import type { Decision } from 'sluice/internal/core/combine'
import type { Verdict } from 'sluice/internal/core/decision'
import type { Entry } from 'sluice/internal/core/request'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { ALLOWED, DENIED, OUTCOMES, outcomeOf, SHADOW_DENIED } from 'sluice/internal/engine/verdict-outcome'
import { type DoorObserver, OBSERVED_DOORS, type ObservedDoor } from '../door-observer.ts'
import { Histograms } from './histograms.ts'
import { labelsOf } from './labels.ts'
import type { ReportBuilder } from './metrics-report.ts'
import { RuleSlots } from './rule-slots.ts'

const DOORS = OBSERVED_DOORS.length

/** The columns of a rule's row: each outcome at each door, then one for each other count. */
const DENIED_TOTAL = OUTCOMES.length * DOORS
const SHADOW_TOTAL = DENIED_TOTAL + 1
const HITS_TOTAL = DENIED_TOTAL + 2
const FAILOPEN_TOTAL = DENIED_TOTAL + 3
const WIDTH = DENIED_TOTAL + 4

const COLUMNS = [
  ['ratelimit_denied_total', DENIED_TOTAL],
  ['ratelimit_shadow_denied_total', SHADOW_TOTAL],
  ['ratelimit_hits_total', HITS_TOTAL],
  ['ratelimit_failopen_total', FAILOPEN_TOTAL],
] as const

const REQUEST_OUTCOMES = ['allowed', 'denied', 'unmatched'] as const
const UNMATCHED = 2

const OUTCOME_LABELS = pairs(OUTCOMES)
const REQUEST_LABELS = pairs(REQUEST_OUTCOMES)

/** The bucket of a share of a limit, by twentieths of it, rounded up. */
const SHARE_BUCKETS = Uint8Array.of(0, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 8, 8, 9, 9)

/** Counts what is decided, in tables of numbers: a decision finds its rows, and adds. */
export class DecisionMetrics implements DoorObserver {
  readonly #slots: RuleSlots
  #counts = new Float64Array(WIDTH)
  readonly #remaining = new Histograms('ratelimit_remaining')
  readonly #durations = new Histograms('ratelimit_check_duration_seconds', DOORS)
  readonly #requests = new Float64Array(REQUEST_OUTCOMES.length * DOORS)
  #unknownDomain = 0
  #noRule = 0

  /** `maxRules` is how many rules have separate series. */
  constructor(rules: () => RuleSet, maxRules: number) {
    const remaining = this.#remaining
    this.#slots = new RuleSlots(
      rules,
      maxRules,
      {
        grown: (rows) => this.#grow(rows),
        freed: (row) => void this.#counts.fill(0, row * WIDTH, (row + 1) * WIDTH),
      },
      { grown: (rows) => remaining.reserve(rows), freed: (row) => remaining.clear(row) },
    )
  }

  /** Counts requests. What gives back or looks, and what is charged later, is none: of it, only the time counts. */
  decided(door: ObservedDoor, charges: readonly PlannedCharge[], decision: Decision, ms: number): void {
    const at = door === 'rls' ? 0 : door === 'grpc' ? 1 : door === 'http' ? 2 : 3
    this.#durations.observe(at, ms / 1000)
    if (charges.length === 0) {
      this.#requests[UNMATCHED * DOORS + at]++
      return
    }
    let isRequest = false
    let isDenied = false
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]
      const { verdict } = decision.verdicts[i]
      if (charge.debit === true) this.#addHits(charge, charge.cost - (verdict.dropped ?? 0))
      else if (charge.cost > 0 || charge.isFree === true) {
        isRequest = true
        if (verdict.unasked !== true && this.#judged(at, charge, verdict, decision.allowed)) isDenied = true
      }
    }
    if (isRequest) this.#requests[(isDenied && !decision.allowed ? DENIED : ALLOWED) * DOORS + at]++
  }

  /** Counts what a rule was charged outside of requests. */
  aside(charges: readonly PlannedCharge[], { allowed, verdicts }: Decision): void {
    for (let i = 0; i < charges.length; i++)
      if (allowed && charges[i].cost > 0 && verdicts[i].verdict.fallback === undefined)
        this.#addHits(charges[i], charges[i].cost)
  }

  unmatched(_domain: string, _entries: readonly Entry[], isKnown: boolean): void {
    if (isKnown) this.#noRule++
    else this.#unknownDomain++
  }

  report(into: ReportBuilder): void {
    for (const { row, labels } of this.#slots.counts()) this.#reportRule(into, row * WIDTH, labels)
    for (const { row, labels } of this.#slots.remaining()) {
      into.addRow('ratelimit_remaining', labels, this.#remaining.table, row)
    }
    REQUEST_LABELS.forEach((labels, i) => void into.add('ratelimit_requests_total', labels, this.#requests[i]))
    OBSERVED_DOORS.forEach((door, i) => {
      into.addRow('ratelimit_check_duration_seconds', labelsOf({ door }), this.#durations.table, i)
    })
    into.add('ratelimit_unmatched_total', labelsOf({ reason: 'unknown_domain' }), this.#unknownDomain)
    into.add('ratelimit_unmatched_total', labelsOf({ reason: 'no_rule' }), this.#noRule)
  }

  /** Counts a verdict, and returns whether it is a refusal that counts. */
  #judged(door: number, charge: PlannedCharge, verdict: Verdict, isAllowed: boolean): boolean {
    const { counts, remaining } = this.#slots.of(charge.rule, charge.domain)
    const at = counts.row * WIDTH
    const table = this.#counts
    const outcome = outcomeOf(charge, verdict)
    table[at + outcome * DOORS + door]++
    const isRefusal = charge.enforce && !verdict.allowed
    if (isRefusal) {
      if (!isAllowed) table[at + DENIED_TOTAL]++
    } else if (outcome === SHADOW_DENIED) table[at + SHADOW_TOTAL]++
    if (verdict.fallback === undefined) {
      if (!charge.rule.unlimited) this.#countShare(remaining.row, verdict)
      // If one rule refuses, none of the enforcing rules is charged.
      if (verdict.allowed && (isAllowed || !charge.enforce)) table[at + HITS_TOTAL] += charge.cost
    } else if (verdict.fallback === 'open') table[at + FAILOPEN_TOTAL]++
    return isRefusal
  }

  #addHits({ rule, domain }: PlannedCharge, hits: number): void {
    this.#counts[this.#slots.of(rule, domain).counts.row * WIDTH + HITS_TOTAL] += hits
  }

  #countShare(row: number, { limit, remaining }: Verdict): void {
    // A burst may be more than the limit.
    const share = limit === 0 ? 0 : Math.min(1, Math.max(0, remaining / limit))
    this.#remaining.count(row, SHARE_BUCKETS[Math.ceil(share * 20)], share)
  }

  #reportRule(into: ReportBuilder, at: number, labels: string): void {
    for (let i = 0; i < OUTCOME_LABELS.length; i++) {
      const count = this.#counts[at + i]
      if (count > 0) into.add('ratelimit_decisions_total', `${labels},${OUTCOME_LABELS[i]}`, count)
    }
    for (const [name, column] of COLUMNS) into.add(name, labels, this.#counts[at + column])
  }

  #grow(rows: number): void {
    if (rows * WIDTH <= this.#counts.length) return
    const larger = new Float64Array(2 * rows * WIDTH)
    larger.set(this.#counts)
    this.#counts = larger
  }
}

/** Formats the labels of every outcome at every door, in the order of their columns. */
function pairs(outcomes: readonly string[]): readonly string[] {
  return outcomes.flatMap((outcome) => OBSERVED_DOORS.map((door) => labelsOf({ outcome, door })))
}
