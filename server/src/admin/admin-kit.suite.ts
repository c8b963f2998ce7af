import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadRules } from 'sluice/internal/core/rules/load'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { onTestFinished } from 'vitest'
import type { AuditEntry } from '../quotas/audit/audit-log.ts'
import type { Sql } from '../quotas/database/database.ts'
import { makePglite } from '../quotas/database/databases.suite.ts'
import { type Quotas, quotasOn } from '../quotas/open/open-quotas.ts'
import type { UsageCount } from '../quotas/tables/usage-store.ts'
import { UsagePages } from '../quotas/usage/usage-pages.ts'
import { SealedSecrets } from '../quotas/webhooks/sealed-secrets.ts'
import { WebhookStore } from '../quotas/webhooks/webhook-store.ts'
import { newToken } from './access/admin-tokens.ts'
import { ACTIVITY } from './activity/fleet-activity.ts'
import { type AdminSources, adminServer } from './admin-server.ts'
import type { InForce, ProposedChange } from './api/change.ts'
import { PREVIEW } from './api/change.ts'
import type { RecordProblems } from './api/parts.ts'
import {
  AdminParts,
  API_KEYS,
  AUDIT,
  type PartKey,
  PROBLEMS,
  RECORDS,
  RULE_TABLE,
  RULES,
  TIER_USAGE,
  TOKENS,
  USAGE,
  WEBHOOKS,
} from './api/parts.ts'
import { CONFIRMATIONS } from './api/waits.ts'
import { CHANGES } from './changes/made-changes.ts'
import { COUNTERS } from './counters/counters.ts'
import type { FleetList } from './fleet/fleet-questions.ts'
import { LEDGER } from './ledger/ledger-key.ts'
import { MemoryLedger } from './ledger/memory-ledger.suite.ts'
import { LIVE } from './live/live-frames.ts'
import { AdminClock, ManualCounters, ManualLive } from './manual-parts.suite.ts'
import { NODES } from './nodes/fleet-nodes.ts'
import { type AdminApiOptions, openAdminApi } from './open-admin-api.ts'
import { RECENT } from './refusals/recent-callers.ts'
import { TOP } from './top/fleet-top.ts'

const SHOP = `
domain: shop
tiers:
  enterprise: {rate_limit: {unit: minute, requests_per_unit: 5000}}
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: api_key
    secret: true
    tiered: true
    rate_limit: {unit: minute, requests_per_unit: 60}
    descriptors:
      - key: endpoint
        value: POST /orders
        shadow_mode: true
        rate_limit: {unit: minute, requests_per_unit: 5}
`

/**
 * An AdminKit is an admin server on loopback with a token for each role. Its database is a PGlite; views of the fleet answer what
 * the test says.
 */
export interface AdminKit {
  readonly url: string
  readonly server: Server
  readonly clock: AdminClock
  readonly quotas: Quotas['store']
  readonly tokens: Quotas['tokens']
  readonly ruleTable: Quotas['rules']
  readonly counters: ManualCounters
  readonly live: ManualLive
  readonly webhooks: WebhookStore
  readonly previewed: (readonly ProposedChange[])[]
  readonly failures: unknown[]
  /** What overviews were asked for. */
  readonly asked: unknown[]
  readonly problems: Problems
  /** Where changes are in force. Default: nowhere. */
  readonly inForce: { of: (changes: readonly ProposedChange[]) => InForce }
  /** In clear, by role. */
  readonly token: Readonly<Record<'viewer' | 'operator' | 'admin' | 'ledger', string>>
  /** Returns the entries of the audit log, the oldest first. */
  audited(): Promise<readonly AuditEntry[]>
  /** Counts what customers used. */
  used(...counts: readonly UsageCount[]): Promise<void>
  /** ask sends a request as an admin, by default. */
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>
}

type Problems = { -readonly [K in keyof RecordProblems]: RecordProblems[K] }

function ofOneNode<T>(item: T): FleetList<T> {
  return { items: [item], nodes: 1, nodesLeftOut: 0 }
}

export interface AskOptions {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** A role, or `none`. */
  readonly as?: 'viewer' | 'operator' | 'admin' | 'ledger' | 'none'
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, if it is. */
  readonly json: Record<string, unknown> & { readonly code?: string; readonly items?: Record<string, unknown>[] }
}

export interface KitOptions extends Partial<AdminApiOptions> {
  /** No tokens in the store. */
  readonly withoutTokens?: boolean
  readonly pages?: AdminSources['pages']
  readonly openPaths?: AdminSources['openPaths']
  readonly bounds?: AdminSources['bounds']
  readonly dashboard?: AdminSources['dashboard']
}

const KEYS = {
  quotas: RECORDS,
  tokens: TOKENS,
  audit: AUDIT,
  usage: USAGE,
  ruleTable: RULE_TABLE,
  counters: COUNTERS,
  preview: PREVIEW,
  live: LIVE,
  nodes: NODES,
  recent: RECENT,
  tierUsage: TIER_USAGE,
  top: TOP,
  activity: ACTIVITY,
  changes: CHANGES,
  problems: PROBLEMS,
  fleet: CONFIRMATIONS,
  apiKeys: API_KEYS,
  webhooks: WEBHOOKS,
  ledger: LEDGER,
  rules: RULES,
} as const

type Provided = { readonly [K in keyof typeof KEYS]: (typeof KEYS)[K] extends PartKey<infer T> ? T : never }

function partsOf(provided: Provided): AdminParts {
  const parts = new AdminParts()
  for (const name of Object.keys(KEYS) as (keyof typeof KEYS)[]) parts.with<unknown>(KEYS[name], provided[name])
  return parts
}

/** startAdmin starts an AdminKit. It ends with the test. */
export async function startAdmin(options: KitOptions = {}): Promise<AdminKit> {
  const clock = new AdminClock()
  const rules = loadRules([{ file: 'shop.yaml', text: SHOP }])
  const database = await (await makePglite()).open()
  const stored = await quotasOn(database, { now: clock.now, secret: 'installation' })
  const { store: quotas, audit, tokens } = stored
  const counters = new ManualCounters(rules)
  const live = new ManualLive()
  const sealed = new SealedSecrets(() => stored.keys.keyFor('webhook secrets'))
  const webhooks = new WebhookStore({ ...stored, sealed, now: clock.now })
  const previewed: (readonly ProposedChange[])[] = []
  const failures: unknown[] = []
  const asked: unknown[] = []
  const inForce: AdminKit['inForce'] = { of: () => ({ rules: [], warnings: [] }) }
  const problems: Problems = { ofTier: () => undefined, ofOverride: () => undefined, ofScope: () => undefined }
  const token = options.withoutTokens ? NO_TOKENS : await tokenOfEachRole(database, clock)
  const { api, access } = openAdminApi({
    parts: partsOf({
      quotas,
      tokens,
      audit,
      usage: new UsagePages(database),
      ruleTable: stored.rules,
      counters,
      preview: {
        preview: async (changes) => {
          previewed.push(changes)
          const limits = [
            {
              ...{ domain: 'api', ruleId: 'api_key', requests: 90_000, refused: 12 },
              ...{ refusedAfter: { atLeast: 0, atMost: 12 }, why: 'It depends on when the requests came.' },
            },
          ]
          const period = {
            kind: 'this_hour',
            fromMs: clock.now(),
            toMs: clock.now(),
            limits,
            limitsLeftOut: 0,
          } as const
          return { affectedCustomers: 1, traffic: [period], trafficUnknown: undefined, notes: ['A note.'] }
        },
        inForce: async (changes) => inForce.of(changes),
      },
      live,
      nodes: {
        list: async () => [
          {
            id: 'node-1',
            name: 'here',
            host: 'here',
            listedUntilMs: undefined,
            isHere: true,
            isAway: false,
            startedAtMs: clock.now(),
            seenAtMs: clock.now(),
            version: '0.1.0',
            ruleVersion: 'abc',
            revision: 1,
            store: 'memory' as const,
            circuit: 'closed' as const,
            decisionsPerSecond: 12,
            memoryBytes: 120_000_000,
            eventLoopDelayMs: 0.4,
            adminAddress: 'localhost:8082',
            workers: [{ id: '1', state: 'ready', startedAtMs: clock.now(), pid: 4_711, decisionsPerSecond: 12 }],
          },
        ],
      },
      recent: {
        refusals: async (_scope, of) =>
          ofOneNode({
            node: 'node-1',
            atMs: clock.now(),
            customerId: of?.kind === 'customer' ? of.customerId : undefined,
            keyId: of?.kind === 'key' ? of.keyId : undefined,
            domain: 'shop',
            rule: 'user',
            key: 'user=alice',
            reason: 'over_limit',
            detail: undefined,
            retryAfterMs: 42_000,
          }),
        nearLimits: async () =>
          ofOneNode({
            node: 'node-1',
            atMs: clock.now(),
            customerId: 'acme',
            keyId: undefined,
            domain: 'shop',
            rule: 'user',
            key: 'user=alice',
            limit: 20,
            remaining: 1,
            windowMs: 60_000,
            resetAtMs: clock.now() + 30_000,
          }),
      },
      tierUsage: {
        byTier: async () => ({
          sinceMs: clock.now() - 3_600_000,
          completeUntilMs: clock.now() - 2_000,
          tiers: [
            { tier: 'enterprise', customers: 2, allowed: 90, refused: 1, cost: 90 },
            { tier: undefined, customers: 40, allowed: 7, refused: 3, cost: -1 },
          ],
        }),
      },
      top: {
        top: async (by, period, limit) => {
          asked.push([by, period, limit])
          const key = {
            domain: 'shop',
            rule: 'user',
            key: 'user=alice',
            customerId: 'acme',
            keyId: undefined,
            count: 90,
            missed: 2,
            share: 0.9,
            isShadow: false,
          }
          return { ...ofOneNode(key), sinceMs: clock.now() - 300_000 }
        },
      },
      activity: {
        list: async () => {
          const counts = { allowed: 5, refused: 1, shadowRefused: 0 }
          const rule = { domain: 'shop', id: 'user', isShadow: false, lastMinute: counts, lastHour: counts }
          return { ...ofOneNode(rule), rulesLeftOut: 0 }
        },
      },
      changes: {
        since: async (sinceMs, limit) => {
          asked.push([sinceMs, limit])
          return [{ atMs: clock.now(), kind: 'switches', text: 'shop/user to shadow', actor: 'the admin' }]
        },
      },
      problems,
      fleet: { wait: async () => undefined, completeUntilMs: async () => clock.now() - 2_000 },
      apiKeys: stored.apiKeys,
      webhooks,
      ledger: new MemoryLedger(quotas, clock.now),
      rules: () => rules,
    }),
    setTokens: [],
    throttleStore: new MemoryStore({ clock: { nowMs: clock.now } }),
    secret: undefined,
    version: '0.1.0',
    nowMs: clock.now,
    failed: (error) => failures.push(error),
    ...options,
  })
  const server = adminServer({
    rules: () => rules,
    stats: () => [['a.hits', 1]],
    admin: { api, access },
    pages: options.pages,
    openPaths: options.openPaths,
    bounds: options.bounds,
    dashboard: options.dashboard,
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => void server.close(() => resolve()))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = async (
    method: string,
    path: string,
    { body, headers = {}, as = 'admin' }: AskOptions = {},
  ): Promise<Answer> => {
    const response = await fetch(`${url}${path.startsWith('/') ? path : `/admin/v1/${path}`}`, {
      method,
      headers: {
        ...(as !== 'none' && { authorization: `Bearer ${token[as]}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson =
      /json/.test(response.headers.get('content-type') ?? '') &&
      !/jsonl/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} }
  }
  return {
    url,
    server,
    clock,
    quotas,
    tokens,
    ruleTable: stored.rules,
    counters,
    live,
    webhooks,
    previewed,
    failures,
    asked,
    problems,
    inForce,
    token,
    audited: async () => (await audit.list({ limit: 1_000 })).items.toReversed(),
    used: async (...counts) => {
      await stored.usage.add({ node: 'kit', id: randomUUID(), counts })
    },
    ask,
  }
}

const NO_TOKENS = { viewer: '', operator: '', admin: '', ledger: '' }

/** Makes a token for each role, of which the audit log has nothing. */
async function tokenOfEachRole(database: Sql, clock: AdminClock): Promise<typeof NO_TOKENS> {
  const roles = ['viewer', 'operator', 'admin', 'ledger'] as const
  // Lists begin with the newest.
  const made = roles.map((role, i) => newToken({ name: `the ${role}`, role }, clock.now() - i))
  await database.query(
    `INSERT INTO sluice.tokens (id, name, hash, prefix, role, created_at)
     SELECT id, name, hash, prefix, role, to_timestamp("createdAtMs"::float8 / 1000)
     FROM jsonb_to_recordset($1::jsonb) AS r (id text, name text, hash text, prefix text, role text, "createdAtMs" int8)`,
    [JSON.stringify(made.map(({ kept }) => kept))],
  )
  return Object.fromEntries(made.map(({ token }, i) => [roles[i], token])) as typeof NO_TOKENS
}
