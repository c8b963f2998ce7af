import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { NodeHealth } from '../edge/health/health.ts'
import { LIVEZ, readyz } from '../edge/health/probe-routes.ts'
import type { HttpBounds } from '../edge/http/bounds.ts'
import { HostNames } from '../edge/http/host-names.ts'
import { type Route, routeServer } from '../edge/http/routes.ts'
import { write, writeJson } from '../edge/http/write.ts'
import type { MergedMetrics } from '../observe/metrics/merge-reports.ts'
import type { Access } from './access/access.ts'
import { requireRole } from './access/roles.ts'
import { Throttled } from './access/throttle.ts'
import { type AdminApi, API_PREFIX } from './api/admin-api.ts'
import { DashboardDoor, type DashboardPlace } from './dashboard/dashboard-door.ts'
import { type HotKeysSource, hotKeysRoute } from './hot-keys/hot-keys-route.ts'
import { metricsRoute } from './metrics-route.ts'
import { listRules } from './rules/rule-listing.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

/** A Stat is a name in the form of envoyproxy/ratelimit, and its value. */
export type Stat = readonly [name: string, value: number]

/** What an adminServer shows. */
export interface AdminSources {
  /** The rules in force. */
  rules(): RuleSet
  /** Everything that is counted, in any order; by several processes, it takes a moment to collect. */
  stats(): MaybePromise<Iterable<Stat>>
  /** Everything that Prometheus reads. Undefined: metrics are off. */
  metrics?(): MaybePromise<MergedMetrics>
  /** Default: it takes requests, and nothing is missing. */
  health?(): MaybePromise<NodeHealth>
  /** The keys that rules refuse most, and are asked about most. */
  readonly hotKeys?: HotKeysSource
  /** Receives internal errors. */
  failed?(error: unknown): void
  /** Who may look, and the admin API. Undefined: all who reach the port may look, and no one may change anything. */
  readonly admin?: { readonly api: Pick<AdminApi, 'answer'>; readonly access: Access } | undefined
  /** Paths that need no token. */
  readonly openPaths?: readonly string[] | undefined
  readonly bounds?: Partial<HttpBounds> | undefined
  /** More pages, by their path. They are guarded as /stats is. */
  readonly pages?: ReadonlyMap<string, AdminPage> | undefined
  /** The pages for browsers. Undefined: there are none. */
  readonly dashboard?: DashboardPlace | undefined
}

/** An AdminPage is one that only shows something. */
export interface AdminPage {
  /** One line about it. */
  readonly about: string
  answer: Route['answer']
}

/** An orchestrator that gets no answer restarts the node: probes are never limited. */
const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz'])

/**
 * adminServer serves what operators look at: /rlconfig, the rules in force, and /stats, what was counted, as lines of
 * `name: value` or, with `?format=json`, as JSON; /metrics for Prometheus; /livez and /readyz for probes; / lists the
 * paths; and below /admin/v1 the admin API. Browsers get the dashboard at / and at every path that has no other answer.
 * What is counted needs a token once there is one; without any, programs on this machine read it. The dashboard itself
 * holds no data and needs none, and probes are neither asked for a token nor limited. It answers to addresses,
 * localhost and `names` only, so that web pages cannot read it under a name of theirs.
 */
export function adminServer(sources: AdminSources, names: readonly string[] = []): Server {
  const help = new Map<string, string>()
  const routes = new Map<string, Route>()
  const open = new Set(['/', ...(sources.openPaths ?? [])])
  const addRoute = (path: string, about: string, route: Route): void => {
    help.set(path, about)
    routes.set(path, route)
  }
  const add = (path: string, about: string, answer: Route['answer']): void => {
    addRoute(path, about, { methods: ['GET', 'HEAD'], answer })
  }
  add('/rlconfig', 'the rules in force, a line for each limit', (_, response) => {
    writeLines(response, listRules(sources.rules()))
  })
  add('/stats', 'what was counted, as lines; ?format=json as JSON', async (request, response) => {
    writeStats(request, response, await sources.stats())
  })
  const { metrics, health = () => ({ unready: '', degraded: '' }) } = sources
  if (metrics !== undefined) addRoute('/metrics', 'everything for Prometheus', metricsRoute(metrics))
  addRoute('/livez', 'whether this process runs', LIVEZ)
  addRoute('/readyz', 'whether the node takes requests: 200, or 503 and why not', readyz(health))
  if (sources.hotKeys !== undefined) {
    add('/admin/v1/hot-keys', 'the keys that rules refuse most, or are asked about most', hotKeysRoute(sources.hotKeys))
  }
  for (const [path, { about, answer }] of sources.pages ?? []) add(path, about, answer)
  const { admin } = sources
  if (admin !== undefined) help.set(`${API_PREFIX}/openapi.json`, 'the admin API')
  const dashboard = sources.dashboard && new DashboardDoor(sources.dashboard)
  routes.set('/', {
    methods: ['GET', 'HEAD'],
    answer: async (request, response) => {
      if (await dashboard?.page(request, response)) return
      if (dashboard !== undefined) response.setHeader('Vary', 'Accept')
      writeLines(response, [...help].map(([path, about]) => `${path}: ${about}`).sort())
    },
  })
  return routeServer(routes, {
    failed: (error) => sources.failed?.(error),
    bounds: sources.bounds,
    hosts: new HostNames(names),
    headers: SECURITY_HEADERS,
    guard:
      admin &&
      (async (request, response, path) => {
        try {
          if (PROBES.has(path)) return
          admin.access.count(request)
          if (routes.has(path) && !open.has(path)) requireRole(await admin.access.identify(request), 'viewer')
        } catch (error) {
          if (error instanceof Throttled) response.setHeader('Retry-After', error.retryAfterSeconds)
          throw error
        }
      }),
    below: admin && {
      prefix: `${API_PREFIX}/`,
      answer: (request, response) => admin.api.answer(request, response),
    },
    otherwise: async (request, response, path) => {
      if (admin !== undefined && path.startsWith(LEDGER_PREFIX)) {
        // The ledger's operations for programs have a short address.
        request.url = `/admin${request.url}`
        await admin.api.answer(request, response)
        return true
      }
      return (await dashboard?.answer(request, response, path)) ?? false
    },
  })
}

const LEDGER_PREFIX = '/v1/ledger/'

function writeStats(request: IncomingMessage, response: ServerResponse, stats: Iterable<Stat>): void {
  const sorted = [...stats].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
  if (searchParams.get('format') === 'json') {
    writeJson(response, 200, 'application/json', Object.fromEntries(sorted))
  } else
    writeLines(
      response,
      sorted.map(([name, value]) => `${name}: ${value}`),
    )
}

function writeLines(response: ServerResponse, lines: readonly string[]): void {
  write(response, 200, 'text/plain; charset=utf-8', lines.map((line) => `${line}\n`).join(''))
}
