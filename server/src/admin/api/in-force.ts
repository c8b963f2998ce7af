import type { Field } from 'sluice/internal/core/schema/schema'
import { list, NUMBER, named, needed, orNull as nullable, object, WHOLE, WORDS } from '../../records/forms.ts'
import { type InForce, LIMIT_EFFECTS, type PlainLimit, PREVIEW, type RuleInForce } from './change.ts'
import type { Call, Change } from './operation.ts'
import { orNull } from './values.ts'

/** How many rules an answer lists, and an entry of the audit log. */
const MAX_LISTED = 100
const MAX_AUDITED = 20

const LIMIT = named(
  'PlainLimit',
  object({
    requests_per_unit: needed(WHOLE),
    unit: nullable(WORDS, 'null: the window is not a unit'),
    window_ms: nullable(NUMBER, 'null: it counts requests at the same time'),
    burst: nullable(WHOLE, 'of a bucket that holds more or less than its limit'),
  }),
)

const RULE_IN_FORCE = named(
  'RuleInForce',
  object({
    domain: needed(WORDS),
    rule: needed(WORDS, 'its id'),
    rule_name: needed(WORDS, 'as in response headers and in explanations'),
    before: nullable(LIMIT, 'null: no limit'),
    after: nullable(LIMIT, 'null: no limit'),
    effect: needed(
      { kind: 'choice', of: LIMIT_EFFECTS },
      'lowered: fewer requests over time or, where that is equal, in a window. replaced: one counts requests at the same time, the other those in a window',
    ),
  }),
)

/** What every change of limits answers, in addition to its record. */
export const IN_FORCE_FIELDS = {
  in_force_on: needed(
    list(RULE_IN_FORCE),
    `the rules that the change is in force on, or was; at most ${MAX_LISTED}, the ones whose limit is lowered first`,
  ),
  in_force_on_total: needed(WHOLE, 'how many there are'),
  warnings: needed(list(WORDS), 'sentences for people: above all, that no rule uses the change, and why'),
} as const

/** The answer of a removal that changes limits. */
export const REMOVED = named('LimitsRemoved', object(IN_FORCE_FIELDS))

/** Returns the form of a record that is answered with where its change is in force. */
export function changedAnswer(name: string, fields: Readonly<Record<string, Field>>) {
  return named(name, object({ ...fields, ...IN_FORCE_FIELDS }))
}

export function inForceJson({ rules, warnings }: InForce) {
  const sorted = [...rules].sort((a, b) => ORDER[a.effect] - ORDER[b.effect])
  return {
    in_force_on: sorted.slice(0, MAX_LISTED).map(ruleJson),
    in_force_on_total: rules.length,
    warnings: [...warnings],
  }
}

const ORDER = { lowered: 0, replaced: 1, raised: 2, same: 3 } as const

function ruleJson({ domain, ruleId, ruleName, before, after, effect }: RuleInForce) {
  return { domain, rule: ruleId, rule_name: ruleName, before: limitJson(before), after: limitJson(after), effect }
}

function limitJson(limit: PlainLimit | undefined) {
  if (limit === undefined) return null
  const { requestsPerUnit, unit, windowMs, burst } = limit
  return {
    requests_per_unit: requestsPerUnit,
    unit: orNull(unit),
    window_ms: orNull(windowMs),
    burst: orNull(burst),
  }
}

export const NOWHERE: InForce = { rules: [], warnings: [] }

/**
 * Has a change say where it is in force: in its answer, its preview and its entries of the audit log. `check` throws
 * for a change that is not to be made without more being said.
 */
export async function statingInForce(
  call: Pick<Call, 'parts' | 'by'>,
  planned: Change | Promise<Change>,
  check: (inForce: InForce) => void = () => {},
): Promise<Change> {
  const change = await planned
  const inForce = (await call.parts.find(PREVIEW)?.inForce(change.changes)) ?? NOWHERE
  check(inForce)
  return {
    ...change,
    inForce,
    commit: async () => {
      const inForceOn = auditedFor(change, inForce)
      const reply = await change.commit({ ...call.by, ...(inForceOn && { inForceOn }) })
      return { ...reply, body: { ...(reply.body as object | undefined), ...inForceJson(inForce) } }
    },
  }
}

/**
 * Returns what the entries of a change say: an override, the rules that it is in force on, and the other record all
 * others.
 */
function auditedFor({ changes }: Change, { rules }: InForce): ReadonlyMap<string, unknown> | undefined {
  const records = changes.filter((change) => change.kind === 'record')
  const overrides = new Set(records.flatMap(({ table, id }) => (table === 'overrides' ? id : [])))
  const audited = records.flatMap(({ table, id }): [string, unknown][] => {
    const own = rules.filter(({ overrideId }) =>
      table === 'overrides' ? overrideId === id : overrideId === undefined || !overrides.has(overrideId),
    )
    // Most changes of customers and keys are not about limits.
    if (own.length === 0 && (table === 'customers' || table === 'api_keys')) return []
    return [[`${table}/${id}`, { total: own.length, rules: own.slice(0, MAX_AUDITED).map(ruleJson) }]]
  })
  return audited.length === 0 ? undefined : new Map(audited)
}
