import type { Decision, RuleVerdict } from '../combine.ts'
import { LOAD_SHED } from './refusal.ts'

/** Formats a decision for HTTP clients: what was decided, by which rule, and the answer of every rule. */
export function decisionJson(decision: Decision): object {
  const { allowed, retryAfterMs, delayMs, tightest } = decision
  return {
    allowed,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(delayMs > 0 && { delayMs }),
    ...(tightest !== undefined && { rule: tightest.rule.name }),
    ...(!allowed && tightest !== undefined && { reason: reasonOf(tightest) }),
    ...(!allowed && tightest?.verdict.shed !== undefined && { code: LOAD_SHED }),
    ...ledgerJson(decision),
    verdicts: decision.verdicts.map(verdictJson),
  }
}

function ledgerJson({ ledger, tightest }: Decision): object {
  const refusal = tightest?.verdict.ledger
  if (refusal !== undefined) return { code: refusal.code, ledger: refusal.json }
  return ledger === undefined ? {} : { ledger: ledger.json }
}

function verdictJson({ rule, descriptor, verdict }: RuleVerdict): object {
  const { kind, allowed: _, unasked, ledger, ...rest } = verdict
  if (unasked === true) return { rule: rule.name, descriptor, kind: 'unasked', limit: verdict.limit }
  return {
    rule: rule.name,
    descriptor,
    kind,
    ...(rule.shadow && { shadow: true }),
    ...rest,
    ...(ledger && { code: ledger.code }),
  }
}

/** Says in one sentence why a rule refused. */
export function reasonOf({ rule, verdict }: RuleVerdict): string {
  const { block, shed, ledger } = verdict
  if (ledger !== undefined) return ledger.reason
  if (shed !== undefined) return SHED_REASONS[shed]
  if (block !== undefined) return block.reason === undefined ? 'the caller is blocked' : `blocked: ${block.reason}`
  if (verdict.kind === 'impossible') {
    return `rule "${rule.name}" admits a cost of at most ${verdict.maxCost}, however long one waits`
  }
  const wait = verdict.kind === 'refused' ? verdict.retryAfterMs : 0
  return `rule "${rule.name}" has ${verdict.remaining} of ${verdict.limit} left; admitted again in ${wait} ms`
}

const SHED_REASONS = {
  fleet: 'the fleet has no capacity left but what is kept for critical requests',
  worker: 'the worker is overloaded, and serves more important requests first',
  upstream: 'the upstream has as many requests as it can take',
} as const
