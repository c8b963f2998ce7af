import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { type AdminKit, type Answer, type AskOptions, startAdmin } from './admin-kit.suite.ts'
import { operationsOf } from './operations.ts'

interface OpenApi {
  readonly openapi: string
  readonly paths: Record<string, Record<string, OpenApiOperation>>
  readonly components: { readonly schemas: Record<string, object> }
}

interface OpenApiOperation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: object }> }>
}

const LIMIT = { requests_per_unit: 500, unit: 'minute' }
const ANY_VERSION = { 'if-match': '*' }
const ASKED = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }
const YAML = 'domain: more\ndescriptors:\n  - key: a\n    rate_limit: {unit: day, requests_per_unit: 1}\n'

type Step = [operationId: string, method: string, path: string, options?: AskOptions]

/** STEPS uses every operation once, in an order in which each finds what it needs. {x} is an id that was made before. */
const STEPS: readonly Step[] = [
  ['readOpenApi', 'GET', 'openapi.json', { as: 'none' }],
  ['logIn', 'POST', 'session', { as: 'none', body: { token: '{token}' } }],
  ['readSession', 'GET', 'session'],
  ['logOut', 'DELETE', 'session'],
  ['createCustomer', 'POST', 'customers', { body: { id: 'acme', tier: 'enterprise', metadata: { billing: 'b-1' } } }],
  ['listCustomers', 'GET', 'customers?search=ac&tier=enterprise&status=active&page_size=1'],
  ['readCustomer', 'GET', 'customers/acme?include=limits,keys,overrides,grants,blocks,refusals,usage,changes'],
  [
    'changeCustomer',
    'PATCH',
    'customers/acme',
    { body: { period_anchor: '2026-01-31' }, headers: { 'if-match': '"1"' } },
  ],
  ['replaceCustomer', 'PUT', 'customers/acme', { body: { name: 'Acme', tier: 'enterprise' }, headers: ANY_VERSION }],
  ['createKey', 'POST', 'customers/acme/keys', { body: { key: 'abc12345678', name: 'main' } }],
  ['listKeys', 'GET', 'customers/acme/keys'],
  ['readKey', 'GET', 'customers/acme/keys/{createKey}'],
  ['createOverride', 'POST', 'customers/acme/overrides', { body: { ...LIMIT, expires_at: '2026-04-01T00:00:00Z' } }],
  ['listOverrides', 'GET', 'customers/acme/overrides'],
  ['readOverride', 'GET', 'customers/acme/overrides/{createOverride}'],
  ['replaceOverride', 'PUT', 'customers/acme/overrides/{createOverride}', { body: LIMIT, headers: ANY_VERSION }],
  ['createGrant', 'POST', 'customers/acme/grants', { body: { amount: 1_000, ticket: 'T-1' } }],
  ['listGrants', 'GET', 'customers/acme/grants'],
  ['readGrant', 'GET', 'customers/acme/grants/{createGrant}'],
  ['createBlock', 'POST', 'blocks', { body: { cidr: '198.51.100.0/24', reason: 'abuse', body: 'Blocked.' } }],
  ['listBlocks', 'GET', 'blocks'],
  ['readBlock', 'GET', 'blocks/{createBlock}'],
  ['putTier', 'PUT', 'tiers/shop/gold', { body: { limits: { rate_limit: LIMIT } } }],
  ['listTiers', 'GET', 'tiers?domain=shop'],
  ['listTiersInForce', 'GET', 'tiers/in-force'],
  ['readTier', 'GET', 'tiers/shop/gold'],
  ['putRules', 'PUT', 'rules/active', { body: { text: YAML, comment: 'more' }, headers: ANY_VERSION }],
  ['readRuleTree', 'GET', 'rules'],
  ['readActiveRules', 'GET', 'rules/active'],
  ['listRuleVersions', 'GET', 'rules/versions'],
  ['readRuleVersion', 'GET', 'rules/versions/1'],
  ['rollBackRules', 'POST', 'rules/versions/1/activate'],
  ['putSwitch', 'PUT', 'rules/switches', { body: { rule: { domain: 'shop', id: 'user' }, mode: 'shadow' } }],
  ['listSwitches', 'GET', 'rules/switches'],
  ['removeSwitch', 'DELETE', 'rules/switches?domain=shop&rule=user'],
  ['putLayer', 'PUT', 'layers', { body: { layer: 'worker', mode: 'shadow', reason: 'a look at it first' } }],
  ['listLayers', 'GET', 'layers'],
  ['removeLayer', 'DELETE', 'layers?layer=worker'],
  ['readCustomerLimits', 'GET', 'customers/acme/limits'],
  ['readCounters', 'GET', 'counters?customer_id=acme'],
  [
    'draftLimit',
    'POST',
    'rules/draft',
    {
      body: {
        text: 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 1 } }]',
        domain: 'shop',
        id: 'user',
        tier: null,
        change: { requests: '2', unit: 'minute', window: null, burst: null, shadow: true },
      },
    },
  ],
  ['lookAtCounters', 'POST', 'counters/look', { body: ASKED }],
  ['resetCounters', 'POST', 'counters/reset', { body: { api_key: 'abc12345678' } }],
  ['explain', 'POST', 'explain', { body: ASKED }],
  ['putQuota', 'PUT', 'quotas/abc12345678', { body: { tier: 'enterprise', overrides: [LIMIT] } }],
  ['readQuota', 'GET', 'quotas/abc12345678'],
  ['readKeyUsage', 'GET', 'usage/abc12345678'],
  ['removeQuota', 'DELETE', 'quotas/abc12345678'],
  ['putMeter', 'PUT', 'meters/exports', { body: { period: 'day', allowance: 10, grace_seconds: 172_800 } }],
  ['listMeters', 'GET', 'meters'],
  ['readMeter', 'GET', 'meters/exports'],
  ['reserve', 'POST', 'ledger/reserve', { body: { customer: 'acme', meter: 'exports', id: 'r1', amount: 5 } }],
  ['release', 'POST', 'ledger/release', { body: { customer: 'acme', meter: 'exports', id: 'r1' } }],
  ['commit', 'POST', 'ledger/commit', { body: { customer: 'acme', meter: 'exports', id: 'r1', used: 0 } }],
  [
    'bookEvents',
    'POST',
    'ledger/events',
    {
      body: {
        events: [
          { customer: 'acme', meter: 'exports', id: 'e1', amount: 1, at: '2026-03-01T10:00:00Z' },
          { customer: 'acme', meter: 'exports', id: 'e2', amount: 1_000 },
          { customer: 'none', meter: 'exports', id: 'e3', amount: 1 },
        ],
      },
    },
  ],
  ['readBalance', 'GET', 'ledger/balance?customer=acme&meter=exports'],
  ['issueQuota', 'POST', 'customers/acme/ledger/exports/issues', { body: { id: 'i1', kind: 'credit', amount: 50 } }],
  [
    'correctUse',
    'POST',
    'customers/acme/ledger/exports/corrections',
    { body: { id: 'c1', corrects: 'e1', amount: 1, reason: 'a failed export' } },
  ],
  ['readLedger', 'GET', 'customers/acme/ledger'],
  ['readStatement', 'GET', 'customers/acme/ledger/exports/statement?page_size=2'],
  ['readBalanceAt', 'GET', 'customers/acme/ledger/exports/balance?at=2026-03-01T10:00:00Z'],
  ['closePeriod', 'POST', 'customers/acme/ledger/exports/close', { body: { start: '2026-02-28T00:00:00Z' } }],
  ['verifyLedger', 'GET', 'ledger/verify'],
  ['reconcileLedger', 'GET', 'ledger/reconcile'],
  ['removeMeter', 'DELETE', 'meters/exports', { headers: ANY_VERSION }],
  ['listUsage', 'GET', 'usage?from=2026-02-01T00:00:00Z&to=2026-03-02T00:00:00Z&granularity=day'],
  ['listAudit', 'GET', 'audit?action=customers.put&kind=customers'],
  ['verifyAudit', 'GET', 'audit/verify'],
  ['readLiveHistory', 'GET', 'live/history'],
  ['listTop', 'GET', 'top?by=used&period=24h&limit=10'],
  ['readUsageByTier', 'GET', 'usage/by-tier?period=30d'],
  ['readRuleActivity', 'GET', 'rules/activity?scope=node'],
  ['listChanges', 'GET', 'changes?since=2026-03-01T00:00:00Z'],
  ['listNodes', 'GET', 'nodes'],
  ['listRefusals', 'GET', 'refusals?customer_id=acme&limit=10'],
  ['listNearLimits', 'GET', 'near-limits?min_window_ms=60000'],
  ['createToken', 'POST', 'tokens', { body: { name: 'ci', role: 'viewer' } }],
  ['listTokens', 'GET', 'tokens'],
  ['revokeToken', 'DELETE', 'tokens/{createToken}'],
  ['createWebhook', 'POST', 'webhooks', { body: { url: 'https://example.com/hook', customer_id: 'acme' } }],
  ['listWebhooks', 'GET', 'webhooks?page_size=1'],
  ['readWebhook', 'GET', 'webhooks/{createWebhook}'],
  ['changeWebhook', 'PATCH', 'webhooks/{createWebhook}', { body: { thresholds: [100] }, headers: ANY_VERSION }],
  ['rotateWebhookSecret', 'POST', 'webhooks/{createWebhook}/secret', { body: {} }],
  ['testWebhook', 'POST', 'webhooks/{createWebhook}/test'],
  ['listWebhookDeliveries', 'GET', 'webhooks/{createWebhook}/deliveries'],
  ['redeliverWebhook', 'POST', 'webhooks/{createWebhook}/deliveries/{testWebhook}/redeliver'],
  ['removeWebhook', 'DELETE', 'webhooks/{createWebhook}', { headers: ANY_VERSION }],
  ['removeOverride', 'DELETE', 'customers/acme/overrides/{createOverride}', { headers: ANY_VERSION }],
  ['removeGrant', 'DELETE', 'customers/acme/grants/{createGrant}', { headers: ANY_VERSION }],
  ['removeBlock', 'DELETE', 'blocks/{createBlock}'],
  ['removeTier', 'DELETE', 'tiers/shop/gold', { headers: ANY_VERSION }],
  ['revokeKey', 'DELETE', 'customers/acme/keys/{createKey}', { headers: ANY_VERSION }],
  ['removeCustomer', 'DELETE', 'customers/acme', { headers: ANY_VERSION }],
]

/** Streams have no end: their form is seen in live.test.ts. */
const STREAMS = ['watchLive']

async function fillKit(kit: AdminKit): Promise<void> {
  kit.live.tick()
  await kit.used({ customerId: 'acme', limit: 'default', atMs: kit.clock.ms - 1, allowed: 9, refused: 1, cost: 9 })
  kit.counters.limits = [
    {
      descriptor: 'default',
      domain: 'shop',
      ruleId: 'api_key',
      above: '',
      ruleName: 'api_key',
      isPattern: false,
      timeZone: undefined,
      source: { kind: 'tier', id: 'enterprise' },
      limit: 5_000,
      used: 53,
      remaining: 4_947,
      windowMs: 60_000,
      unit: 'minute',
      windowStartMs: kit.clock.ms,
      resetAtMs: kit.clock.ms + 60_000,
    },
  ]
}

describe('the admin API', () => {
  it('answers every operation as its OpenAPI description says', async () => {
    const kit = await startAdmin()
    await fillKit(kit)
    const described = (await kit.ask('GET', 'openapi.json')).json as unknown as OpenApi
    expect(described.openapi).toBe('3.1.0')
    const ajv = new Ajv2020({ strict: false })
    ajv.addSchema({ $id: 'api', components: described.components })
    const made: Record<string, string> = { token: kit.token.viewer }
    const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (_, name: string) => made[name] ?? `{${name}}`)
    for (const [id, method, path, options = {}] of STEPS) {
      const isText = options.body !== undefined && JSON.stringify(options.body).includes('{token}')
      const asked = isText ? { ...options, body: fill(JSON.stringify(options.body)) } : options
      const answer = await kit.ask(method, fill(path), asked)
      const found = operationNamed(described, id)
      const problem = `${id}: ${answer.status} ${answer.text}`
      expect(found.responses[answer.status], problem).toBeDefined()
      expect(answer.status, problem).toBeLessThan(300)
      expect(wrongWith(ajv, found, answer), problem).toEqual([])
      if (typeof answer.json.id === 'string') made[id] = answer.json.id
    }
    expect(kit.failures).toEqual([])
  })

  it('has a step for every operation', () => {
    const all = operationsOf('0.0.0').map(({ id }) => id)
    expect([...STEPS.map(([id]) => id), ...STREAMS].sort()).toEqual([...all].sort())
    expect(new Set(all).size).toBe(all.length)
  })

  it('describes every parameter of a path, and only those', () => {
    for (const { path, params = {} } of operationsOf('0.0.0')) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(Object.keys(params).sort()).toEqual(named.sort())
    }
  })

  it('previews every change, and changes nothing', async () => {
    const kit = await startAdmin()
    await fillKit(kit)
    const described = (await kit.ask('GET', 'openapi.json')).json as unknown as OpenApi
    const ajv = new Ajv2020({ strict: false })
    ajv.addSchema({ $id: 'api', components: described.components })
    const changes = new Set(operationsOf('0.0.0').flatMap(({ kind, id }) => (kind === 'change' ? [id] : [])))
    const made: Record<string, string> = {}
    const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (_, name: string) => made[name])
    for (const [id, method, path, options] of STEPS.filter(([step]) => changes.has(step))) {
      const entries = (await kit.audited()).length
      const joint = path.includes('?') ? '&' : '?'
      const answer = await kit.ask(method, `${fill(path)}${joint}dry_run=true`, options)
      expect([id, answer.status, answer.json.dry_run]).toEqual([id, 200, true])
      expect(wrongWith(ajv, operationNamed(described, id), answer), id).toEqual([])
      expect(await kit.audited()).toHaveLength(entries)
      const done = await kit.ask(method, fill(path), options)
      if (typeof done.json.id === 'string') made[id] = done.json.id
    }
    expect(kit.counters.resets).toHaveLength(1)
    expect(kit.previewed).toHaveLength(changes.size)
  })
})

function operationNamed({ paths }: OpenApi, id: string): OpenApiOperation {
  const all = Object.values(paths).flatMap((methods) => Object.values(methods))
  const found = all.find(({ operationId }) => operationId === id)
  if (found === undefined) throw new Error(`${id} is not described`)
  return found
}

function wrongWith(ajv: Ajv2020, { responses }: OpenApiOperation, { status, headers, json, text }: Answer): unknown[] {
  const { content } = responses[status]
  if (content === undefined) return text === '' ? [] : ['a body that is not described']
  const schema = content[headers.get('content-type') ?? '']?.schema
  if (schema === undefined) return ['a type that is not described']
  const whole = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')) as object
  const validate = ajv.compile(whole)
  return validate(json) ? [] : (validate.errors ?? [])
}
