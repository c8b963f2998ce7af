import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { MergedMetrics } from '../../observe/metrics/merge-reports.ts'
import { LIVEZ, readyz } from '../health/probe-routes.ts'
import { HostNames } from '../http/host-names.ts'
import { type Route, routeServer } from '../http/routes.ts'
import { write, writeJson } from '../http/write.ts'
import { type HotKeysSource, hotKeysRoute } from './hot-keys-route.ts'
import { metricsRoute } from './metrics-route.ts'
import { listRules } from './rule-listing.ts'

/** A Stat is a name in the form of envoyproxy/ratelimit, and its value. */
export type Stat = readonly [name: string, value: number]

/** What an adminServer shows. */
export interface AdminSources {
  /** The rules in force. */
  rules(): RuleSet
  /** Everything that is counted, in any order; by several processes, it takes a moment to collect. */
  stats(): MaybePromise<Iterable<Stat>>
  /** Everything that Prometheus is told. Not there: metrics are off. */
  metrics?(): MaybePromise<MergedMetrics>
  /** Why the node cannot take requests; '' if it can. Default: it can. */
  unready?(): MaybePromise<string>
  /** The keys that rules refuse most, and are asked about most. */
  readonly hotKeys?: HotKeysSource
  /** Told of errors of our own. */
  failed?(error: unknown): void
}

/**
 * adminServer serves what operators look at: /rlconfig, the rules in force, and /stats, what was counted, as lines of
 * `name: value` or, with `?format=json`, as JSON; /metrics for Prometheus; /livez and /readyz for probes; /admin/v1/hot-keys. /
 * lists the paths. It has no lock of its own: bind it to this machine. It
 * answers to addresses, localhost and `names` only, so that web pages cannot read it under a name of theirs.
 */
export function adminServer(sources: AdminSources, names: readonly string[] = []): Server {
  const help = new Map<string, string>()
  const routes = new Map<string, Route>()
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
  const { metrics, unready = () => '' } = sources
  if (metrics !== undefined) addRoute('/metrics', 'everything for Prometheus', metricsRoute(metrics))
  addRoute('/livez', 'whether this process runs', LIVEZ)
  addRoute('/readyz', 'whether the node takes requests: 200, or 503 and why not', readyz(unready))
  if (sources.hotKeys !== undefined) {
    add('/admin/v1/hot-keys', 'the keys that rules refuse most, or are asked about most', hotKeysRoute(sources.hotKeys))
  }
  routes.set('/', {
    methods: ['GET', 'HEAD'],
    answer: (_, response) => writeLines(response, [...help].map(([path, about]) => `${path}: ${about}`).sort()),
  })
  return routeServer(routes, { failed: (error) => sources.failed?.(error), hosts: new HostNames(names) })
}

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
