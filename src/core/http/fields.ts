import { type Decision, isTighter, type RuleVerdict } from '../combine.ts'
import { retryAfterSeconds } from './retry-after.ts'

/** An HTTP field: name and value. */
export type Field = readonly [name: string, value: string]

/**
 * rateLimitFields renders a decision: RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers), the legacy
 * X-RateLimit-* beside them, and Retry-After on a refusal. The policies that applied are listed, the tightest first.
 * Shadow rules are not: they are nobody's business but the operator's. Nor are rules without a limit.
 */
export function rateLimitFields(decision: Decision, nowMs: number): Field[] {
  const { tightest } = decision
  if (tightest === undefined) return []
  const applied = listed(decision.verdicts, tightest)
  const fields: Field[] = [
    ['RateLimit-Policy', applied.map(policyMember).join(', ')],
    ['RateLimit', applied.map(remainingMember).join(', ')],
    ['X-RateLimit-Limit', String(tightest.verdict.limit)],
    ['X-RateLimit-Remaining', String(tightest.verdict.remaining)],
    ['X-RateLimit-Reset', String(Math.ceil((nowMs + untilMoreMs(tightest)) / 1000))],
  ]
  const retryAfter = retryAfterSeconds(decision)
  if (retryAfter !== undefined) fields.push(['Retry-After', String(retryAfter)])
  return fields
}

/** Clients and proxies refuse answers with long fields: nginx above 4 KiB in all, Node.js above 16. */
const MOST_FIELD_CHARACTERS = 1_600
const MOST_NAME_CHARACTERS = 128
/** Parameters and separator of a member, at their longest: `;q=4294967295;qu="concurrent-requests", `. */
const MOST_PARAMETER_CHARACTERS = 40

/**
 * listed returns one verdict for each name, its tightest: a name that stands twice in a field is ambiguous. What would
 * make the field too long is left out; some forty rules with short names fit.
 */
function listed(verdicts: readonly RuleVerdict[], tightest: RuleVerdict): readonly RuleVerdict[] {
  if (verdicts.length === 1) return verdicts
  const byName = new Map([[quoted(tightest.rule.name), tightest]])
  for (const each of verdicts) {
    if (each.rule.shadow || each.rule.unlimited) continue
    const name = quoted(each.rule.name)
    const seen = byName.get(name)
    if (seen === undefined || isTighter(each.verdict, seen.verdict)) byName.set(name, each)
  }
  let room = MOST_FIELD_CHARACTERS
  const fitting: RuleVerdict[] = []
  for (const [name, each] of byName) {
    room -= name.length + MOST_PARAMETER_CHARACTERS
    if (room >= 0) fitting.push(each)
  }
  return fitting
}

/** policyMember spells a rule as a member of RateLimit-Policy: `"name";q=100;w=60`. It is the same in every response. */
function policyMember({ rule }: RuleVerdict): string {
  const { algorithm, limit, windowMs, calendar } = rule.limit
  const name = quoted(rule.name)
  if (algorithm === 'concurrency') return `${name};q=${limit};qu="concurrent-requests"`
  // A calendar's windows differ in length, and the parameter is optional.
  return calendar ? `${name};q=${limit}` : `${name};q=${limit};w=${Math.max(1, Math.ceil(windowMs / 1000))}`
}

/** remainingMember spells a verdict as a member of RateLimit: `"name";r=47;t=42`, t being when there is more. */
function remainingMember(each: RuleVerdict): string {
  return `${quoted(each.rule.name)};r=${each.verdict.remaining};t=${Math.ceil(untilMoreMs(each) / 1000)}`
}

/** untilMoreMs is when a refused caller may come again, and until the reset for everybody else. */
function untilMoreMs({ verdict }: RuleVerdict): number {
  return verdict.kind === 'refused' ? verdict.retryAfterMs : verdict.resetAfterMs
}

/**
 * quoted spells text as a String of RFC 9651, section 3.3.3: printable ASCII, with `"` and `\` escaped. Anything else
 * becomes `?`: one bad member would void the whole field. Names are cut at 128 characters.
 */
function quoted(text: string): string {
  let out = '"'
  for (let i = 0; i < text.length && i < MOST_NAME_CHARACTERS; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code > 0x7e) out += '?'
    else out += code === 0x22 || code === 0x5c ? `\\${text[i]}` : text[i]
  }
  return `${out}"`
}
