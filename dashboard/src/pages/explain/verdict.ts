import { durationText } from 'sluice/internal/core/duration-text'
import type { Counter, MeterState, Operations } from '../../api/operations.ts'
import type { Question } from './question.ts'

export type Explanation = Operations['explain']['answer']

/** What a counter has to say: it refuses, would if it were enforced, has budget, or never refuses. */
export type Standing = 'refuses' | 'would refuse' | 'admits' | 'never refuses'

/** standingOf says what a counter does to a request of cost 1. */
export function standingOf(counter: Counter): Standing {
  const { is_unlimited, switched_to, would_refuse, grants, remaining, retry_after_ms, is_shadow } = counter
  if (is_unlimited || switched_to === 'off') return 'never refuses'
  if (would_refuse) return 'refuses'
  const isFull = retry_after_ms > 0 || remaining <= 0
  const reportsOnly = switched_to === null ? is_shadow : switched_to === 'shadow'
  return isFull && reportsOnly && grants.length === 0 ? 'would refuse' : 'admits'
}

const ORDER: readonly Standing[] = ['refuses', 'would refuse', 'admits', 'never refuses']

/** byWeight puts first what binds: of several that refuse, the one that refuses longest, and else the one with the least left. */
export function byWeight(counters: readonly Counter[]): Counter[] {
  const rank = (counter: Counter): number => ORDER.indexOf(standingOf(counter))
  const share = ({ remaining, limit }: Counter): number => (limit > 0 ? remaining / limit : 0)
  return [...counters].sort((a, b) => rank(a) - rank(b) || b.retry_after_ms - a.retry_after_ms || share(a) - share(b))
}

/** A Verdict is the answer in one glance. */
export interface Verdict {
  readonly tone: 'good' | 'bad'
  readonly title: string
  readonly sentence: string
}

/** verdictOf says in a sentence what decides. */
export function verdictOf({ admitted, blocked, matched, counters, meters }: Explanation): Verdict {
  if (blocked !== null) {
    const why = blocked.reason === null ? '' : ` (${blocked.reason})`
    return {
      tone: 'bad',
      title: 'Refused: the caller is blocked',
      sentence: `Block ${blocked.id}${why} goes before all rules. ${blocked.what_would_admit}`,
    }
  }
  const [first] = byWeight(counters)
  const unpaid = meters.find(({ code }) => code !== null)
  // Limits are asked first: what they refuse, the ledger does not hear of.
  if (!admitted && first !== undefined && (unpaid === undefined || standingOf(first) === 'refuses')) {
    return refusedBy(first, counters)
  }
  if (unpaid !== undefined) return unpaidBy(unpaid)
  if (first === undefined) {
    const note = matched.find(({ note: each }) => each !== null)?.note
    return { tone: 'good', title: 'Admitted: no rule applies', sentence: note ?? 'Nothing limits this request.' }
  }
  return admittedBy(first)
}

function refusedBy(first: Counter, all: readonly Counter[]): Verdict {
  const others = all.filter((each) => standingOf(each) === 'refuses').length - 1
  const more = others === 0 ? '' : ` ${others} more ${others === 1 ? 'rule refuses' : 'rules refuse'} it, too.`
  return {
    tone: 'bad',
    title: `Refused by ${first.rule_name}`,
    sentence: `${usedText(first)} ${first.what_would_admit}${more}`,
  }
}

const NOT_PAID: Readonly<Record<NonNullable<MeterState['code']>, string>> = {
  LEDGER_SHORT: 'has too little left',
  LEDGER_CUSTOMER_UNKNOWN: 'finds no customer to bill',
  LEDGER_UNAVAILABLE: 'does not answer',
}

/** unpaidBy says why a request gets a 402, 429 or 503 that every limit admits. */
function unpaidBy({ meter, rule_name, code, status, what_would_admit }: MeterState): Verdict {
  const why = code === null ? 'pays' : NOT_PAID[code]
  return {
    tone: 'bad',
    title: `Refused with ${status}: meter ${meter} ${why}`,
    sentence: `The limit of ${rule_name} admits it. ${what_would_admit}`,
  }
}

function admittedBy(first: Counter): Verdict {
  const standing = standingOf(first)
  if (standing === 'would refuse') {
    return {
      tone: 'good',
      title: 'Admitted, because a rule is in shadow mode',
      sentence: `${first.rule_name} would refuse it. ${usedText(first)}`,
    }
  }
  if (standing === 'never refuses') return { tone: 'good', title: 'Admitted', sentence: first.what_would_admit }
  return {
    tone: 'good',
    title: 'Admitted',
    sentence: `The nearest limit is ${first.rule_name}: ${first.remaining} of ${first.limit} are left.`,
  }
}

const usedText = ({ used, limit, reset_after_ms: ms }: Counter): string =>
  `${used} of ${limit} are used${ms > 0 ? `, and the whole budget is available in ${durationText(ms, Math.ceil)}` : ''}.`

/**
 * withoutSecrets keeps of a question what may stand in an address, which others read: values that the server shows, too. What it does
 * not show, or says nothing about, is left out.
 */
export function withoutSecrets({ domain, descriptors }: Question, { matched }: Pick<Explanation, 'matched'>): Question {
  const steps = matched.flatMap((each) => each.steps)
  // A tier is no step: it chooses among the rules.
  const isShown = (key: string): boolean => {
    const known = steps.filter((step) => step.key === key)
    return known.length > 0 ? known.every(({ value }) => value !== null) : key === 'tier'
  }
  return {
    domain,
    descriptors: descriptors.map(({ entries }) => ({
      entries: entries.map(({ key, value }) => ({ key, value: isShown(key) ? value : '' })),
    })),
  }
}
