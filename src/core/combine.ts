import type { Verdict } from './decision.ts'
import type { LedgerPayment } from './ledger-note.ts'
import type { Rule } from './rule.ts'

/** A verdict with the rule that gave it, and the descriptor it was about. */
export interface RuleVerdict {
  readonly rule: Rule
  /** The position of the descriptor in the request. */
  readonly descriptor: number
  readonly verdict: Verdict
}

/** All verdicts folded into one answer. */
export interface Decision {
  readonly allowed: boolean
  /** When refused: the first moment at which every rule admits the request, unless waiting never helps. */
  readonly retryAfterMs: number | undefined
  /** leaky_bucket: continue only after this long. */
  readonly delayMs: number
  /** The rule that decided: the strictest that refuses, else the one with the least remaining. */
  readonly tightest: RuleVerdict | undefined
  readonly verdicts: readonly RuleVerdict[]
  /** Set where rules name meters: what paid for an admitted request. */
  readonly ledger?: LedgerPayment
}

/** Returns the decision about a request that no rule matches. */
export const UNLIMITED: Decision = Object.freeze({
  allowed: true,
  retryAfterMs: undefined,
  delayMs: 0,
  tightest: undefined,
  verdicts: Object.freeze([]),
})

/**
 * Folds verdicts: the request passes when every enforcing rule admits it. Shadow rules report, never bind. Of the rules
 * in quota mode, one that admits is enough; one that only reports always does.
 */
export function combine(verdicts: readonly RuleVerdict[]): Decision {
  const enforcing = verdicts.filter(({ rule }) => !rule.shadow && !rule.unlimited)
  const quotaPasses = verdicts.some(
    ({ rule, verdict }) => rule.quota && !rule.unlimited && (rule.shadow || verdict.allowed),
  )
  let tightest: RuleVerdict | undefined
  let delayMs = 0
  for (const candidate of enforcing) {
    if (quotaPasses && candidate.rule.quota && !candidate.verdict.allowed) continue
    if (tightest === undefined || isTighter(candidate.verdict, tightest.verdict)) tightest = candidate
    if (candidate.verdict.kind === 'allowed') delayMs = Math.max(delayMs, candidate.verdict.delayMs)
  }
  return tightest === undefined ? withoutLimits(verdicts) : decisionBy(tightest, verdicts, delayMs)
}

/** Like combine for a single verdict of a rule that enforces: what most requests get. */
export function combineOne(only: RuleVerdict): Decision {
  return decisionBy(only, [only], only.verdict.kind === 'allowed' ? only.verdict.delayMs : 0)
}

function decisionBy(tightest: RuleVerdict, verdicts: readonly RuleVerdict[], delayMs: number): Decision {
  const { verdict } = tightest
  return {
    allowed: verdict.allowed,
    retryAfterMs: verdict.kind === 'refused' ? verdict.retryAfterMs : undefined,
    delayMs: verdict.allowed ? delayMs : 0,
    tightest,
    verdicts,
  }
}

/** Admits: no rule that enforces applies. */
function withoutLimits(verdicts: readonly RuleVerdict[]): Decision {
  return verdicts.length === 0 ? UNLIMITED : { ...UNLIMITED, verdicts }
}

/** Refuses a request that could not be decided about, where a rule says that such requests are refused. */
export function undecided(retryAfterMs: number): Decision {
  return { ...UNLIMITED, allowed: false, retryAfterMs }
}

/** Lets a refused request pass, and keeps what the rules say about it: shadow mode for all rules. */
export function letPass(decision: Decision): Decision {
  return decision.allowed ? decision : { ...decision, allowed: true, retryAfterMs: undefined }
}

/** Orders verdicts: impossible, then refused for longest, then the least remaining, then the later reset. */
export function isTighter(a: Verdict, b: Verdict): boolean {
  if (a.kind !== b.kind) return STRICTNESS[a.kind] > STRICTNESS[b.kind]
  if (a.kind === 'refused' && b.kind === 'refused') return a.retryAfterMs > b.retryAfterMs
  return a.remaining < b.remaining || (a.remaining === b.remaining && a.resetAfterMs > b.resetAfterMs)
}

const STRICTNESS = { allowed: 0, refused: 1, impossible: 2 } as const
