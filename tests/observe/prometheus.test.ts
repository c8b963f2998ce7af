import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readQueries } from '../../scripts/grafana.mjs'
import { requireCommand } from '../../scripts/system-packages.mjs'
import { FAMILIES } from '../../server/src/observe/metrics/families.ts'
import type { RuleState, Sample } from '../servers/prometheus.mjs'
import { until } from '../servers/until.mjs'
import { CLAIMS } from './metric-claims.suite.ts'
import { type Answered, PLANTED } from './mixed-load.suite.ts'
import { liveThrough, type WatchedFleet, watchFleet } from './watched-fleet.suite.ts'

/** Alerts that what the fleet lives through concerns. None lasts long enough here to fire. */
const CONCERNED = [
  'SluiceRefusalSpike',
  'SluiceUnknownDomain',
  'SluiceCircuitOpen',
  'SluiceFailOpen',
  'SluiceFailClosed',
  'SluiceLocalFallback',
  'SluiceRedisErrors',
  'SluiceConfigRefused',
].map((alert) => ({ alert, expression: `count_over_time(ALERTS{alertname="${alert}",alertstate="pending"}[5m])` }))

interface Panel {
  readonly targets: readonly { readonly expr: string }[]
}

/** What the dashboards ask, as Grafana sends it when all nodes, domains and rules are chosen. */
const { annotation, dashboards } = readQueries()
const PANELS: readonly Panel[] = dashboards.flatMap(({ rows }: { rows: { panels: Panel[] }[] }) =>
  rows.flatMap(({ panels }) => panels),
)
const ASKED: readonly string[] = [annotation, ...PANELS.flatMap(({ targets }) => targets)].map(({ expr }) =>
  expr.replaceAll('$__rate_interval', '2m').replace(/\$\w+/g, '.*'),
)

// Everything is asked while the nodes are there: they end with the first test.
let fleet: WatchedFleet
let answered: Answered
let rules: readonly RuleState[]
let pages: readonly string[]
const found = new Map<string, readonly Sample[]>()

const recorded = (): string[] => [...new Set(rules.filter(({ type }) => type === 'recording').map(({ name }) => name))]

beforeAll(async () => {
  fleet = await watchFleet()
  answered = await liveThrough(fleet)
  rules = await fleet.prometheus.rules()
  await Promise.all(
    [
      ...CLAIMS.map(([, , expression]) => expression),
      ...CONCERNED.map(({ expression }) => expression),
      ...ASKED,
      ...recorded(),
    ].map(ask),
  )
  pages = await Promise.all(fleet.nodes.map(async ({ admin }) => (await fetch(`${admin}/metrics`)).text()))
})
afterAll(() => fleet?.stop())

/** Waits until an expression finds a number, and gives up when the nodes have been read often enough. */
async function ask(expression: string): Promise<void> {
  const isNumber = ({ value }: Sample): boolean => Number.isFinite(value)
  const look = async () => {
    const samples = await fleet.prometheus.query(expression)
    return samples.some(isNumber) && samples
  }
  found.set(expression, await until(`${expression} finds something`, look).catch(() => []))
}

describe('every metric moves as it should', () => {
  it.each(CLAIMS)('%s: %s', async (metric, _claim, expression) => {
    expect(expression).toContain(metric)
    expect(found.get(expression), expression).not.toEqual([])
  })

  it('all metrics are in the list', () => {
    const claimed = new Set(CLAIMS.map(([metric]) => metric))
    const missing = FAMILIES.map(({ name }) => name).filter((name) => !claimed.has(name))
    expect(missing).toEqual([])
  })

  it('what callers were answered is what was counted, by all workers together', () => {
    const counted = { admitted: 0, refused: 0 }
    for (const [, outcome, value] of pages
      .join('')
      .matchAll(/^ratelimit_requests_total\{outcome="(\w+)".*\} (\d+)$/gm)) {
      counted[outcome === 'denied' ? 'refused' : 'admitted'] += Number(value)
    }
    expect(counted).toEqual(answered)
  })

  it('values of requests are in no metric', async () => {
    const told = `${pages.join('')}${JSON.stringify(await fleet.prometheus.series())}`
    expect(told).toContain('ratelimit_decisions_total')
    expect(PLANTED.filter((value) => told.includes(value))).toEqual([])
  })

  it.each([0, 1])('promtool has nothing to say about the text of node %i but for one label', (node) => {
    const { status, stderr } = spawnSync(requireCommand('promtool'), ['check', 'metrics'], {
      input: pages[node],
      encoding: 'utf8',
    })
    // It takes quantiles for those of a summary, which could not tell the maximum.
    const known = 'ratelimit_eventloop_delay_seconds non-summary metrics should not have "quantile" label'
    expect(stderr.split('\n').filter((line) => line !== '' && line !== known)).toEqual([])
    expect([0, 3]).toContain(status)
  })
})

describe('rules and dashboards', () => {
  it('every rule is evaluated without an error', () => {
    expect(rules.length).toBeGreaterThan(30)
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
  })

  it.each(CONCERNED)('$alert notices', ({ expression }) => {
    expect(found.get(expression)).not.toEqual([])
  })

  it('every recording rule returns data', () => {
    expect(recorded().length).toBeGreaterThan(15)
    expect(recorded().filter((name) => found.get(name)?.length === 0)).toEqual([])
  })

  it('every query of a dashboard returns data', () => {
    expect(ASKED.length).toBeGreaterThan(50)
    expect(ASKED.filter((expression) => found.get(expression)?.length === 0)).toEqual([])
  })
})
