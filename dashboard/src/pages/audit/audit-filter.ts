import type { Operations } from '../../api/operations.ts'

export type AuditQuery = Operations['listAudit']['query']
export type Kind = NonNullable<AuditQuery['kind']>

/** Everything that is changed, and what one of it is called. */
export const NOUNS: Readonly<Record<Kind, string>> = {
  customers: 'customer',
  api_keys: 'API key',
  overrides: 'override',
  grants: 'grant',
  blocks: 'block',
  tiers: 'tier',
  switches: 'switch',
  meters: 'meter',
  ledger: 'ledger entry',
  tokens: 'token',
  rules: 'rules',
  counters: 'counters',
  webhooks: 'webhook',
}
export const KINDS = Object.keys(NOUNS) as Kind[]

export const ACTIONS: readonly string[] = [
  ...['customers', 'api_keys', 'overrides', 'grants', 'blocks', 'tiers', 'switches', 'meters'].flatMap((kind) => [
    `${kind}.put`,
    `${kind}.remove`,
  ]),
  'tokens.create',
  'tokens.revoke',
  'rules.put',
  'rules.activate',
  'counters.reset',
  ...['issue', 'correct', 'close'].map((what) => `ledger.${what}`),
  ...['create', 'update', 'remove', 'rotate', 'disable', 'test', 'redeliver'].map((what) => `webhooks.${what}`),
]

export type Span = 'all' | 'day' | 'week' | 'month' | 'own'
const SPAN_MS: Readonly<Partial<Record<Span, number>>> = { day: 86_400_000, week: 604_800_000, month: 2_592_000_000 }

/** An AuditFilter is what the address of the page asks for. */
export interface AuditFilter {
  readonly actor: string
  readonly action: string
  readonly kind: Kind | ''
  readonly customer: string
  readonly span: Span
  /** Of a span between two times, as an input of the type datetime-local holds it. */
  readonly from: string
  readonly to: string
  /** A change at this time is looked for. */
  readonly atMs: number | undefined
  /** This entry is looked for. */
  readonly sequence: number | undefined
}

const isKind = (text: string): text is Kind => Object.hasOwn(NOUNS, text)

/** filterOf reads the address. What makes no sense in it is as if it were not there. */
export function filterOf(query: URLSearchParams, hash: string): AuditFilter {
  const text = (name: string): string => query.get(name) ?? ''
  const kind = text('kind')
  const span = text('span')
  const atMs = Date.parse(text('at'))
  return {
    actor: text('actor'),
    action: text('action'),
    kind: isKind(kind) ? kind : '',
    customer: text('customer'),
    span: span === 'day' || span === 'week' || span === 'month' || span === 'own' ? span : 'all',
    from: text('from'),
    to: text('to'),
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    sequence: /^[1-9]\d{0,14}$/.test(hash) ? Number(hash) : undefined,
  }
}

/** How many newer entries stand above the one that is looked for. */
const ABOVE = 5
const NEAR_MS = 2_000

/** queryOf is what the server is asked. Spans end now: they begin at a whole minute, so that the list is not another one each second. */
export function queryOf(filter: AuditFilter, nowMs = Date.now()): AuditQuery {
  const { actor, action, kind, customer, span, from, to, atMs, sequence } = filter
  const spanMs = SPAN_MS[span]
  const begins =
    spanMs === undefined ? undefined : new Date(Math.floor((nowMs - spanMs) / 60_000) * 60_000).toISOString()
  const given = {
    actor: actor.trim(),
    action: action.trim(),
    kind,
    customer_id: customer.trim(),
    from: span === 'own' ? isoOf(from) : begins,
    to: atMs === undefined ? (span === 'own' ? isoOf(to) : undefined) : new Date(atMs + NEAR_MS).toISOString(),
    up_to: sequence === undefined ? undefined : sequence + ABOVE,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== ''))
}

function isoOf(typed: string): string | undefined {
  const ms = Date.parse(typed)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

/** isMeant says whether an entry is one that the address looks for. */
export function isMeant(
  { sequence, atMs }: AuditFilter,
  entry: { readonly sequence: number; readonly at: string },
): boolean {
  if (sequence !== undefined) return entry.sequence === sequence
  return atMs !== undefined && Math.abs(Date.parse(entry.at) - atMs) <= NEAR_MS
}
