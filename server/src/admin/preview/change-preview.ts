import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { loadRules } from 'sluice/internal/core/rules/load'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { CallerEntries } from '../../quotas/book/caller-entries.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import type { RuleSwitch } from '../../quotas/model.ts'
import type { CallerHours } from '../../quotas/usage/caller-hours.ts'
import type { FleetActivity } from '../activity/fleet-activity.ts'
import type { CounterTarget, InForce, Preview, PreviewOutcome, ProposedChange } from '../api/change.ts'
import type { Offered, RecordProblems } from '../api/parts.ts'
import { customerOf } from '../callers/callers.ts'
import type { RecordChange } from './affected.ts'
import { rulesInForce } from './in-force.ts'
import { inForceWarnings } from './in-force-warnings.ts'
import { RecordEffects } from './record-effects.ts'
import { RuleEffects } from './rule-effects.ts'

export interface ChangePreviewParts {
  readonly rules: () => RuleSet
  readonly book: () => QuotaBook | undefined
  readonly entries: CallerEntries
  readonly keys: KeyEncoder
  /** Undefined: use is not kept. */
  readonly hours: Offered<CallerHours> | undefined
  readonly activity: Pick<FleetActivity, 'list'>
  readonly problems: RecordProblems
  /** Resolves with whether the book has what the database has, after a moment. Default: it has. */
  readonly caughtUp?: (() => Promise<boolean>) | undefined
  /** Compiles a text in place of the rules of the API. Default: alone. */
  readonly compiled?: (text: string) => Promise<RuleSet>
  /** countersOf counts what a reset would forget. */
  readonly countersOf: (target: CounterTarget) => Promise<number>
  /** Nothing is refused, whatever rules and records say. */
  readonly isShadow?: boolean
  readonly nowMs?: () => number
}

const alone = async (text: string): Promise<RuleSet> => loadRules([{ file: 'rules', text }])

const NOTHING: PreviewOutcome = { affectedCustomers: 0, traffic: [], trafficUnknown: undefined, notes: [] }
const SHADOW = 'Nothing is refused: the service runs with --shadow-mode.'
const NO_RECORDS = 'Records are not in force here yet.'
const BEHIND = 'This node has not read the newest records yet: where the change is in force is judged by older ones.'

/** ChangePreview says what changes would come to, by what is known of requests that were made. */
export class ChangePreview implements Preview {
  readonly #parts: ChangePreviewParts
  readonly #nowMs: () => number

  constructor(parts: ChangePreviewParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? Date.now
  }

  async preview(changes: readonly ProposedChange[]): Promise<PreviewOutcome> {
    const records = changes.filter((change): change is RecordChange => change.kind === 'record')
    // Records of one call are about the same callers, a key and its overrides: they take effect together.
    const [first = { kind: 'token', before: undefined, after: undefined }] = changes
    const outcome = records.length > 0 ? await this.#previewRecords(records) : await this.#previewOther(first)
    if (this.#parts.isShadow !== true || outcome.traffic.length === 0) return outcome
    return { ...outcome, traffic: [], trafficUnknown: SHADOW }
  }

  #previewRecords(changes: readonly RecordChange[]): Promise<PreviewOutcome> | PreviewOutcome {
    const { rules, book: bookNow, entries, keys, hours, activity } = this.#parts
    const book = bookNow()
    const nowMs = this.#nowMs()
    const [{ table, id, after }] = changes
    if (table === 'switches') {
      return new RuleEffects({ rules: rules(), book, activity, nowMs }).ofSwitch(id, after as RuleSwitch | undefined)
    }
    if (book === undefined) return { ...NOTHING, affectedCustomers: undefined, trafficUnknown: NO_RECORDS }
    return new RecordEffects(changes, { rules: rules(), book, entries, keys, hours, nowMs }).outcome()
  }

  async inForce(changes: readonly ProposedChange[]): Promise<InForce> {
    const { rules, entries, problems, isShadow, caughtUp } = this.#parts
    const isCurrent = (await caughtUp?.()) ?? true
    const book = this.#parts.book()
    if (book === undefined) return { rules: [], warnings: [NO_RECORDS] }
    const records = changes.filter((change): change is RecordChange => change.kind === 'record')
    const parts = { rules: rules(), book, entries, problems, nowMs: this.#nowMs() }
    const found = rulesInForce(records, parts)
    const warnings = inForceWarnings(records, found, parts)
    if (isShadow === true) warnings.push(SHADOW)
    if (!isCurrent) warnings.push(BEHIND)
    return { rules: found.rules, warnings }
  }

  async #previewOther(change: ProposedChange): Promise<PreviewOutcome> {
    const { rules, book, activity, compiled = alone } = this.#parts
    if (change.kind === 'counters') return this.#previewReset(change.target)
    if (change.kind !== 'rules') return NOTHING
    const parts = { rules: rules(), book: book(), activity, nowMs: this.#nowMs() }
    return new RuleEffects(parts).ofRules(await compiled(change.text))
  }

  async #previewReset(target: CounterTarget): Promise<PreviewOutcome> {
    const counters = await this.#parts.countersOf(target)
    const keyId = target.kind === 'key' ? target.keyId : undefined
    const ofKey = keyId === undefined ? undefined : customerOf(this.#parts.book()?.key(keyId))
    const isOfCustomer = target.kind === 'customer' || ofKey !== undefined
    const notes = [`${counters.toLocaleString('en')} counter${counters === 1 ? '' : 's'} would start from zero.`]
    return { ...NOTHING, affectedCustomers: isOfCustomer ? 1 : keyId === undefined ? undefined : 0, notes }
  }
}
