import type { CompileOptions } from 'sluice/internal/core/rules/compile'
import { describeRule } from 'sluice/internal/core/rules/describe'
import { loadRules } from 'sluice/internal/core/rules/load'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { rulesOf } from '../../observe/metrics/rules-of.ts'
import { previewChange } from '../../quotas/book/preview.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import type { QuotaChange } from '../../quotas/model.ts'
import type { CounterTarget, Preview, PreviewOutcome, ProposedChange, UsageStore } from '../../quotas/ports.ts'
import { customerOf } from '../desk/caller-limits.ts'
import { MAX_COMPARED, type Peaks, readPeaks } from './usage-peaks.ts'

export interface ChangePreviewParts {
  readonly rules: () => RuleSet
  readonly book: () => QuotaBook | undefined
  readonly usage: UsageStore | undefined
  /** How rules are compiled here. */
  readonly compile?: CompileOptions
  /** countersOf counts what a reset would forget. */
  readonly countersOf: (target: CounterTarget) => Promise<number>
  readonly nowMs?: () => number
}

type RecordChange = Extract<ProposedChange, { kind: 'record' }>

const NOTHING: PreviewOutcome = { affectedCustomers: 0, atPeak: undefined, notes: [] }
/** Rules that are told of by name. */
const MAX_TOLD = 20

/** ChangePreview says what changes would come to, by the book in force and last week's use. */
export class ChangePreview implements Preview {
  readonly #parts: ChangePreviewParts
  readonly #nowMs: () => number

  constructor(parts: ChangePreviewParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? Date.now
  }

  async preview(changes: readonly ProposedChange[]): Promise<PreviewOutcome> {
    const outcomes: PreviewOutcome[] = []
    for (const change of changes) outcomes.push(await this.#previewOne(change))
    const peaks = outcomes.flatMap(({ atPeak }) => (atPeak === undefined ? [] : [atPeak]))
    const most = (of: (peak: (typeof peaks)[number]) => number): number => Math.max(...peaks.map(of))
    return {
      // Several changes of one call are about the same callers: a key and its overrides.
      affectedCustomers: Math.max(0, ...outcomes.map(({ affectedCustomers }) => affectedCustomers)),
      atPeak:
        peaks.length === 0
          ? undefined
          : {
              atMs: peaks[0].atMs,
              requests: most(({ requests }) => requests),
              refusedBefore: most(({ refusedBefore }) => refusedBefore),
              refusedAfter: most(({ refusedAfter }) => refusedAfter),
            },
      notes: [...new Set(outcomes.flatMap(({ notes }) => notes))],
    }
  }

  async #previewOne(change: ProposedChange): Promise<PreviewOutcome> {
    if (change.kind === 'record') return this.#previewRecord(change)
    if (change.kind === 'rules') return this.#previewRules(change.text)
    if (change.kind === 'counters') return this.#previewReset(change.target)
    return NOTHING
  }

  async #previewRecord({ table, id, before, after }: RecordChange): Promise<PreviewOutcome> {
    const book = this.#parts.book()
    if (book === undefined) return NOTHING
    const changeTo = (record: unknown) => ({ table, id, record, revision: 0 }) as unknown as QuotaChange
    const input = { book, rules: this.#parts.rules(), nowMs: this.#nowMs(), change: changeTo(after) }
    const asked = new Set<string>()
    const count = previewChange({ ...input, usage: { peakPerWindow: (customerId) => void asked.add(customerId) } })
    const known = await this.#peaksOf([...asked])
    if (typeof known === 'string') return outcomeOf(count.customers, undefined, [affects(count.text), known])
    const outcome = previewChange({ ...input, usage: known })
    const was = previewChange({ ...input, usage: known, change: changeTo(before) })
    return outcomeOf(outcome.customers, peakOf(known, was.refused, outcome.refused), [outcome.text])
  }

  /** #peaksOf reads last week's use, or says why there is none to compare with. */
  async #peaksOf(customers: readonly string[]): Promise<Peaks | string> {
    const { usage } = this.#parts
    if (usage === undefined) return 'Nothing is known of last week: usage is not kept.'
    if (customers.length > MAX_COMPARED) return 'Too many customers to compare with last week.'
    const peaks = await readPeaks(usage, customers, this.#nowMs())
    return peaks.busiestAtMs === undefined && customers.length > 0
      ? 'Nothing is known of their use of last week.'
      : peaks
  }

  /** #previewRules says which rules would be others. It throws a RulesError for a text that is wrong. */
  async #previewRules(text: string): Promise<PreviewOutcome> {
    const now = this.#parts.rules()
    const { compile = {} } = this.#parts
    const next = loadRules([{ file: 'rules', text }], compile)
    // Where files may share a domain, what a text does not mention is that of the others.
    const changes = diffOf(now, next).filter(({ isRemoved }) => !isRemoved || compile.mergeDomains !== true)
    const isTiered = changes.some(({ tier }) => tier)
    const customers = isTiered ? [...(this.#parts.book()?.customers() ?? [])].length : 0
    const told = changes.slice(0, MAX_TOLD).map(({ note }) => note)
    if (changes.length > MAX_TOLD) told.push(`and ${changes.length - MAX_TOLD} more`)
    return outcomeOf(customers, undefined, told.length === 0 ? ['No rule would change.'] : told)
  }

  async #previewReset(target: CounterTarget): Promise<PreviewOutcome> {
    const book = this.#parts.book()
    const counters = await this.#parts.countersOf(target)
    const customer =
      target.kind === 'customer'
        ? target.customerId
        : target.kind === 'key'
          ? customerOf(book?.key(target.keyId))?.id
          : undefined
    const notes = [`${counters.toLocaleString('en')} counter${counters === 1 ? '' : 's'} would begin anew.`]
    return outcomeOf(customer === undefined ? 0 : 1, undefined, notes)
  }
}

function outcomeOf(
  affectedCustomers: number,
  atPeak: PreviewOutcome['atPeak'],
  notes: readonly string[],
): PreviewOutcome {
  return { affectedCustomers, atPeak, notes }
}

function peakOf(
  { busiestAtMs, requests }: Peaks,
  refusedBefore: number,
  refusedAfter: number,
): PreviewOutcome['atPeak'] {
  return busiestAtMs === undefined ? undefined : { atMs: busiestAtMs, requests, refusedBefore, refusedAfter }
}

/** affects keeps of a sentence what is known without last week. */
function affects(text: string): string {
  return text.slice(text.lastIndexOf('; ') + 2)
}

interface RuleDifference {
  readonly note: string
  /** It is one of a tier, or stands on the same level as tiers. */
  readonly tier: boolean
  readonly isRemoved: boolean
}

/** diffOf compares the rules of the domains that a text is about with those in force. */
function diffOf(now: RuleSet, next: RuleSet): readonly RuleDifference[] {
  const before = new Map([...placed(now)].filter(([, { domain }]) => next.domains.has(domain)))
  const after = new Map(placed(next))
  const differences: RuleDifference[] = []
  for (const [name, { text, isTiered }] of after) {
    const was = before.get(name)?.text
    if (was === text) continue
    differences.push({
      note: was === undefined ? `${name}: new, ${text}` : `${name}: ${was} → ${text}`,
      tier: isTiered,
      isRemoved: false,
    })
  }
  for (const [name, { isTiered }] of before) {
    if (!after.has(name)) differences.push({ note: `${name}: removed`, tier: isTiered, isRemoved: true })
  }
  return differences
}

function* placed(rules: RuleSet): Generator<[string, { domain: string; text: string; isTiered: boolean }]> {
  for (const { domain, rule, tier } of rulesOf(rules)) {
    const name = `${domain}/${rule.id}${tier === undefined ? '' : ` (tier ${tier})`}`
    const isTiered = rules.domains.get(domain)?.hasTiers === true
    yield [name, { domain, text: describeRule(rule), isTiered }]
  }
}
