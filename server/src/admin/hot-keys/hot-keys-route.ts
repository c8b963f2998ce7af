import type { IncomingMessage, ServerResponse } from 'node:http'
import { got, SluiceError } from 'sluice/internal/core/errors'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Route } from '../../edge/http/routes.ts'
import { writeJson } from '../../edge/http/write.ts'
import { type HotKeysReport, RANKINGS, type Ranking, type RuleReport } from '../../observe/hot-keys/hot-keys-report.ts'
import { WINDOWS, type WindowMinutes } from '../../observe/hot-keys/key-windows.ts'

/** Whose keys are asked for: this node's, or those of all nodes on the same Redis. */
export const SCOPES = ['node', 'fleet'] as const
export type HotKeysScope = (typeof SCOPES)[number]

/** A ScopedReport is a report with whose it is: that of the node, where the fleet cannot be asked. */
export interface ScopedReport {
  readonly report: HotKeysReport
  readonly scope: HotKeysScope
  /** How many nodes it is made of. */
  readonly nodes: number
  /** How many more there are: too many to ask. */
  readonly nodesLeftOut: number
  /** Why it is not that of the fleet, although that was asked for. */
  readonly reason?: string | undefined
}

export type HotKeysSource = (scope: HotKeysScope) => MaybePromise<ScopedReport>

interface Query {
  readonly by: Ranking
  readonly minutes: WindowMinutes
  readonly scope: HotKeysScope
  readonly limit: number
  readonly domain: string | undefined
  readonly rule: string | undefined
}

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 200

/** hotKeysRoute answers GET /admin/v1/hot-keys; docs/observability.md describes it. */
export function hotKeysRoute(source: HotKeysSource): Route['answer'] {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const query = queryOf(new URL(request.url ?? '/', 'http://localhost').searchParams)
    writeJson(response, 200, 'application/json', answerOf(query, await source(query.scope)))
  }
}

function answerOf(query: Query, { report, scope, nodes, nodesLeftOut, reason }: ScopedReport): object {
  const { by, minutes, limit, domain, rule } = query
  const asked = report.rules.filter(
    (each) => (domain === undefined || each.domain === domain) && (rule === undefined || each.rule === rule),
  )
  const keys = asked.flatMap((each) => keysOf(each, query)).sort((a, b) => b.count - a.count)
  const rules = asked.map((each) => ruleOf(each, minutes)).sort(by === 'refused' ? byRefused : byRequests)
  return {
    by,
    minutes,
    scope,
    ...(reason !== undefined && { reason }),
    nodes,
    nodesLeftOut,
    rulesLeftOut: report.rulesLeftOut,
    rules: rules.slice(0, limit),
    keys: keys.slice(0, limit),
  }
}

function keysOf({ domain, rule, isShadow, windows }: RuleReport, { by, minutes }: Query) {
  const { total, missed, keys } = windows[minutes][by]
  return keys.map(([key, count]) => {
    return { domain, rule, shadow: isShadow, key, count, missed, share: Math.round((count / total) * 1_000) / 1_000 }
  })
}

function ruleOf({ domain, rule, isShadow, windows, exhausted }: RuleReport, minutes: WindowMinutes) {
  const { active, refused } = windows[minutes]
  return { domain, rule, shadow: isShadow, requests: active.total, refused: refused.total, exhausted }
}

type RuleRow = ReturnType<typeof ruleOf>

const byRequests = (a: RuleRow, b: RuleRow): number => b.requests - a.requests
const byRefused = (a: RuleRow, b: RuleRow): number => b.refused - a.refused || byRequests(a, b)

const NAMES = ['by', 'minutes', 'scope', 'limit', 'domain', 'rule']

function queryOf(params: URLSearchParams): Query {
  const names = [...params.keys()]
  const wrong = names.find((name, i) => !NAMES.includes(name) || names.indexOf(name) !== i)
  if (wrong !== undefined) throw invalid(wrong, params)
  const chosen = <T extends string | number>(name: string, choices: readonly T[], otherwise: T): T => {
    const given = params.get(name)
    const found = given === null ? otherwise : choices.find((choice) => String(choice) === given)
    if (found === undefined) throw invalid(name, params)
    return found
  }
  const limit = params.get('limit') ?? String(DEFAULT_LIMIT)
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MAX_LIMIT) throw invalid('limit', params)
  return {
    by: chosen('by', RANKINGS, 'refused'),
    minutes: chosen('minutes', WINDOWS, 5),
    scope: chosen('scope', SCOPES, 'node'),
    limit: Number(limit),
    domain: params.get('domain') ?? undefined,
    rule: params.get('rule') ?? undefined,
  }
}

function invalid(name: string, params: URLSearchParams): SluiceError {
  const values = params.getAll(name).slice(0, 2)
  return new SluiceError('HOT_KEYS_QUERY_INVALID', 'hot-keys', `${got(name)} is ${values.map(got).join(' and ')}`)
}
