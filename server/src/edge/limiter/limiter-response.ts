import type { Decision, RuleVerdict } from 'sluice/internal/core/combine'
import { reasonOf } from 'sluice/internal/core/http/decision-json'
import { boolField, join, messageField, numberField, type ProtoField, textField } from '../../protobuf/writer.ts'

const KINDS = { allowed: 1, refused: 2, impossible: 3 } as const
const FALLBACKS = { open: 1, closed: 2, local: 3 } as const

/** Encodes sluice.v1.Decision as a field of an answer. */
function decisionField(number: number, decision: Decision): ProtoField {
  const { allowed, retryAfterMs, delayMs, tightest, verdicts } = decision
  return messageField(
    number,
    boolField(1, allowed),
    ...(retryAfterMs === undefined ? [] : [numberField(2, retryAfterMs, true)]),
    numberField(3, delayMs),
    textField(4, tightest?.rule.name ?? ''),
    textField(5, allowed || tightest === undefined ? '' : reasonOf(tightest)),
    ...verdicts.map(verdictField),
  )
}

function verdictField({ rule, descriptor, verdict }: RuleVerdict): ProtoField {
  return messageField(
    6,
    textField(1, rule.name),
    numberField(2, descriptor),
    numberField(3, KINDS[verdict.kind]),
    boolField(4, rule.shadow),
    numberField(5, verdict.limit),
    numberField(6, verdict.remaining),
    numberField(7, verdict.resetAfterMs),
    numberField(8, verdict.kind === 'refused' ? verdict.retryAfterMs : 0),
    numberField(9, verdict.kind === 'allowed' ? verdict.delayMs : 0),
    numberField(10, verdict.kind === 'impossible' ? verdict.maxCost : 0),
    numberField(11, verdict.fallback === undefined ? 0 : FALLBACKS[verdict.fallback]),
    boolField(12, verdict.unasked === true),
    textField(13, verdict.block?.id ?? ''),
    textField(14, verdict.grant ?? ''),
    textField(15, verdict.shed ?? ''),
  )
}

/** Encodes sluice.v1.CheckResponse: a decision or an error for each request. */
export function encodeCheckResponse(answers: readonly (Decision | AnswerError)[]): Uint8Array {
  return join(
    answers.map((answer) => messageField(1, 'code' in answer ? errorField(answer) : decisionField(1, answer))),
  )
}

/** Why one request of several was not decided. */
export interface AnswerError {
  readonly code: string
  readonly message: string
}

function errorField({ code, message }: AnswerError): ProtoField {
  return messageField(2, textField(1, code), textField(2, message))
}

/** Encodes sluice.v1.AcquireResponse. */
export function encodeAcquireResponse(decision: Decision, lease: string, leaseTtlMs = 0): Uint8Array {
  return join([decisionField(1, decision), textField(2, lease), numberField(3, leaseTtlMs)])
}

/** Encodes sluice.v1.RenewResponse: an answer for each lease. */
export function encodeRenewResponse(renewals: readonly (AnswerError | { readonly ttlMs: number })[]): Uint8Array {
  return join(
    renewals.map((each) => messageField(1, 'code' in each ? errorField(each) : numberField(1, each.ttlMs, true))),
  )
}
