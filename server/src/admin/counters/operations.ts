import { durationText } from 'sluice/internal/core/duration-text'
import { SluiceError } from 'sluice/internal/core/errors'
import { explain as explainMatch } from 'sluice/internal/core/rules/explain'
import {
  API_KEY,
  DESCRIPTORS,
  ID,
  list,
  NUMBER,
  named,
  needed,
  orNull as nullable,
  object,
  optional,
  REASON,
  text,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import type { CounterTarget } from '../api/change.ts'
import { type Call, operation } from '../api/operation.ts'
import { RULES } from '../api/parts.ts'
import { load } from '../api/records.ts'
import { invalid } from '../api/values.ts'
import { findKey } from '../keys/find-key.ts'
import { LIMIT_STATES, limitsJson, SOURCE } from '../limits/limit-states.ts'
import type { LookedBlock, LookedCounter } from './counters.ts'
import { COUNTERS } from './counters.ts'
import { METER_STATE, meterStates } from './meter-states.ts'

const ASKED = { domain: needed(text(256)), descriptors: needed(DESCRIPTORS) } as const

const COUNTER = named(
  'Counter',
  object({
    descriptor: needed(WHOLE, 'the position of the descriptor in the request'),
    rule_id: needed(WORDS),
    rule_name: needed(WORDS),
    described: needed(WORDS),
    is_unlimited: needed(YES_OR_NO),
    is_shadow: needed(YES_OR_NO),
    switched_to: nullable({ kind: 'choice', of: ['off', 'shadow', 'enforce'] }),
    source: needed(SOURCE),
    key: needed(WORDS, 'the key of the counter; secrets are hashed'),
    limit: needed(WHOLE),
    used: needed(WHOLE),
    remaining: needed(WHOLE),
    reset_after_ms: needed(NUMBER),
    retry_after_ms: needed(NUMBER),
    would_refuse: needed(YES_OR_NO),
    customer_id: nullable(WORDS, 'whose request it is; null: no entry on the way to the rule says so'),
    grants: needed(
      list(object({ id: needed(WORDS), remaining: needed(WHOLE) })),
      'where it is full: extra budget of the caller, in the order of its use',
    ),
    what_would_admit: needed(WORDS),
  }),
)

interface Asked {
  readonly domain: string
  readonly descriptors: readonly { readonly entries: readonly { readonly key: string; readonly value: string }[] }[]
}

function targetOf({ domain, descriptors }: Asked): CounterTarget & { kind: 'descriptors' } {
  return { kind: 'descriptors', domain, descriptors: descriptors.map(({ entries }) => entries) }
}

/** wouldRefuse says whether a counter keeps a request of cost 1 out. */
function wouldRefuse(counter: LookedCounter): boolean {
  const { isUnlimited, isShadow, switchedTo, retryAfterMs, isImpossible } = counter
  const reportsOnly = switchedTo === undefined ? isShadow : switchedTo !== 'enforce'
  return !isUnlimited && !reportsOnly && (isImpossible || retryAfterMs > 0) && grantOf(counter) === undefined
}

/** grantOf is the grant that a request of cost 1 would be charged on, where the counter has nothing left. */
function grantOf({ grants = [] }: LookedCounter) {
  return grants.find(({ remaining }) => remaining > 0)
}

/** admitting says in words what would let a request of cost 1 pass. */
export function admitting(counter: LookedCounter): string {
  const { isUnlimited, isShadow, switchedTo, retryAfterMs, isImpossible, remaining, limit } = counter
  if (isUnlimited) return 'It is admitted: there is no limit.'
  if (switchedTo === 'off') return 'It is admitted: the rule is switched off.'
  const isFull = isImpossible || retryAfterMs > 0
  if (!isFull) return `It is admitted: ${remaining} of ${limit} are left.`
  if (switchedTo === 'shadow' || (isShadow && switchedTo !== 'enforce')) {
    return 'It is admitted: the rule is in shadow mode. Enforced, it would refuse.'
  }
  const grant = grantOf(counter)
  if (grant !== undefined)
    return `It is admitted: the limit is used up, and grant ${grant.id} has ${grant.remaining} left.`
  if (isImpossible) return `Waiting does not help: the limit is ${limit}. Raise the limit, or switch the rule off.`
  return `Wait ${formatWait(retryAfterMs)}, raise the limit above ${limit}, grant extra budget, or reset the counter.`
}

/** formatWait writes how long to wait, and rounds up: a caller that waits so long has waited long enough. */
const formatWait = (ms: number): string => durationText(ms, Math.ceil)

function counterJson(counter: LookedCounter) {
  return {
    descriptor: counter.descriptor,
    rule_id: counter.ruleId,
    rule_name: counter.ruleName,
    described: counter.described,
    is_unlimited: counter.isUnlimited,
    is_shadow: counter.isShadow,
    switched_to: counter.switchedTo ?? null,
    source: { kind: counter.source.kind, id: counter.source.id ?? null },
    key: counter.key,
    limit: counter.limit,
    used: counter.used,
    remaining: counter.remaining,
    reset_after_ms: counter.resetAfterMs,
    retry_after_ms: counter.retryAfterMs,
    would_refuse: wouldRefuse(counter),
    customer_id: counter.customerId ?? null,
    grants: (counter.grants ?? []).map(({ id, remaining: left }) => ({ id, remaining: left })),
    what_would_admit: admitting(counter),
  }
}

/** stepsOf retraces how a descriptor is matched. API keys are not shown, nor values that rules call secret. */
function stepsOf({ parts }: Pick<Call, 'parts'>, { domain: name, descriptors }: Asked) {
  const domain = parts.get(RULES)().domains.get(name)
  if (domain === undefined) throw new SluiceError('DOMAIN_UNKNOWN', 'body.domain', `got ${JSON.stringify(name)}`)
  const counters = parts.get(COUNTERS)
  return descriptors.map(({ entries }) => {
    const tier = domain.hasTiers ? entries.find(({ key }) => key === 'tier')?.value : undefined
    const matched = tier === undefined ? entries : entries.filter(({ key }) => key !== 'tier')
    const { steps, note } = explainMatch(domain, matched, tier)
    return {
      note: note ?? null,
      steps: steps.map(({ entry, how, pattern, secret, known }) => ({
        key: entry.key,
        value: secret || counters.isApiKey(entry.key) ? null : entry.value,
        how,
        pattern: pattern ?? null,
        known: known.slice(0, 20),
      })),
    }
  })
}

const MATCHED = named(
  'Matched',
  object({
    note: nullable(WORDS, 'where nothing applies: why'),
    steps: needed(
      list(
        object({
          key: needed(WORDS),
          value: nullable(WORDS, 'null: secret'),
          how: needed(WORDS),
          pattern: nullable(WORDS),
          known: needed(list(WORDS), 'where nothing matches: what there is on this level'),
        }),
      ),
    ),
  }),
)

const BLOCKED = named(
  'BlockedBy',
  object({
    id: needed(WORDS),
    reason: nullable(WORDS),
    status: needed(WHOLE),
    ends_in_ms: nullable(NUMBER, 'null: without end'),
    what_would_admit: needed(WORDS),
  }),
)

function blockJson(block: LookedBlock | undefined) {
  if (block === undefined) return null
  const { id, reason, status, endsInMs } = block
  const isSuspended = id === 'suspended'
  const undo = isSuspended ? 'Make the customer active again' : `Unblock ${id}`
  return {
    id,
    reason: reason ?? null,
    status,
    ends_in_ms: endsInMs ?? null,
    what_would_admit: endsInMs === undefined ? `${undo}.` : `${undo}, or wait ${formatWait(endsInMs)}.`,
  }
}

const RESET_FIELDS = {
  customer_id: optional(ID),
  api_key_id: optional(ID),
  api_key: optional(API_KEY),
  domain: optional(text(256)),
  descriptors: optional(DESCRIPTORS),
  reason: optional(REASON),
} as const

interface ResetBody
  extends Partial<Record<'customer_id' | 'api_key_id' | 'api_key' | 'domain', string | null | undefined>> {
  readonly descriptors?: Asked['descriptors'] | null | undefined
}

/** resetTarget says whose counters are meant: exactly one way of naming them is used. */
async function resetTarget(call: Pick<Call, 'parts'>, body: ResetBody): Promise<CounterTarget> {
  const { customer_id, api_key_id, api_key, domain, descriptors } = body
  const given = [customer_id, api_key_id, api_key, descriptors].filter((each) => each !== undefined && each !== null)
  if (given.length !== 1 || Boolean(descriptors) !== Boolean(domain)) {
    throw invalid('body', 'one of customer_id, api_key_id, api_key, and domain with descriptors is given')
  }
  if (descriptors && domain) return targetOf({ domain, descriptors })
  if (customer_id) return { kind: 'customer', customerId: (await load(call, 'customers', customer_id)).id }
  if (api_key_id) return { kind: 'key', keyId: (await load(call, 'api_keys', api_key_id)).id }
  const { id } = await findKey(call, api_key ?? '', 'api_keys')
  return { kind: 'key', keyId: id, ...(api_key && { apiKey: api_key }) }
}

export const COUNTER_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'readCounters',
    method: 'GET',
    path: '/counters',
    tag: 'counters',
    role: 'viewer',
    summary: 'the counters of a customer or of a key',
    query: {
      customer_id: { schema: ID, doc: 'of a customer' },
      api_key_id: { schema: ID, doc: 'of one key' },
    },
    answer: { status: 200, schema: LIMIT_STATES },
    errors: ['RECORD_UNKNOWN', 'REDIS_UNREACHABLE'],
    run: async (call) => {
      const target = await resetTarget(call, call.query)
      if (target.kind === 'descriptors') throw invalid('query', 'descriptors are sent to /counters/look')
      const limits = await call.parts.get(COUNTERS).limitsOf(target)
      return { body: limitsJson(limits) }
    },
  }),
  operation({
    kind: 'look',
    id: 'lookAtCounters',
    method: 'POST',
    path: '/counters/look',
    tag: 'counters',
    role: 'viewer',
    summary: 'the counters that descriptors lead to, as they are; nothing is charged',
    body: named('Asked', object(ASKED)),
    answer: { status: 200, schema: object({ counters: needed(list(COUNTER)) }) },
    errors: ['REDIS_UNREACHABLE'],
    run: async (call) => {
      const counters = await call.parts.get(COUNTERS).look(targetOf(call.body))
      return { body: { counters: counters.map(counterJson) } }
    },
  }),
  operation({
    kind: 'change',
    id: 'resetCounters',
    method: 'POST',
    path: '/counters/reset',
    tag: 'counters',
    role: 'operator',
    summary: 'give a customer, a key or descriptors the whole budget again, on every node',
    isUnconfirmed: true,
    body: named('Reset', object(RESET_FIELDS)),
    answer: { status: 200, schema: object({ reset: needed(WHOLE, 'how many counters') }) },
    errors: ['RECORD_UNKNOWN', 'REDIS_UNREACHABLE'],
    plan: async (call) => {
      const counters = call.parts.get(COUNTERS)
      const target = await resetTarget(call, call.body)
      return {
        changes: [{ kind: 'counters', target }],
        commit: async () => ({ body: { reset: await counters.reset(target, call.by) } }),
      }
    },
  }),
  operation({
    kind: 'look',
    id: 'explain',
    method: 'POST',
    path: '/explain',
    tag: 'explain',
    role: 'viewer',
    summary: 'why a request is refused: every rule that matches, its counter and meter now, and what would admit it',
    body: named('AskedToExplain', object(ASKED)),
    answer: {
      status: 200,
      schema: object({
        admitted: needed(YES_OR_NO, 'whether a request of cost 1 would pass now'),
        blocked: nullable(BLOCKED, 'what refuses it before any rule is asked'),
        matched: needed(list(MATCHED), 'for each descriptor, how it was matched'),
        counters: needed(list(COUNTER)),
        meters: needed(list(METER_STATE), 'what pays for what the limits admit, for each rule with a meter'),
      }),
    },
    errors: ['DOMAIN_UNKNOWN', 'REDIS_UNREACHABLE'],
    run: async (call) => {
      const matched = stepsOf(call, call.body)
      const parts = call.parts.get(COUNTERS)
      const target = targetOf(call.body)
      const block = parts.blockOf(target)
      const counters = await parts.look(target)
      const meters = await meterStates(call, counters)
      const isPaid = meters.every(({ code }) => code === null)
      const admitted = block === undefined && !counters.some(wouldRefuse) && isPaid
      const body = { admitted, blocked: blockJson(block), matched, counters: counters.map(counterJson), meters }
      return { body }
    },
  }),
]
