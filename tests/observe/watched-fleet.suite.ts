import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { kill, launch, type Started } from '../cli/sluice-process.suite.ts'
import { type PrometheusServer, startPrometheus } from '../servers/prometheus.mjs'
import { makeTemporaryDir } from '../servers/reaper.mjs'
import { type RedisServer, startRedis } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'
import { type Answered, startMixedLoad } from './mixed-load.suite.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url))

// Windows of a day, so that none ends meanwhile. A rule for each thing that a metric tells apart.
const RULES = `
domain: api
tiers: { pro: { rate_limit: { unit: day, requests_per_unit: 1000000 } } }
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 5 } }
  - { key: shadow, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: open, rate_limit: { unit: day, requests_per_unit: 1000000, on_store_failure: open } }
  - { key: closed, rate_limit: { unit: day, requests_per_unit: 1000000, on_store_failure: closed } }
  - { key: leased, rate_limit: { unit: day, requests_per_unit: 1000000, consistency: leased } }
  - { key: sampled, rate_limit: { unit: second, requests_per_unit: 20, consistency: sampled } }
  - { key: api_key, secret: true, tiered: true, rate_limit: { unit: day, requests_per_unit: 1000000 } }
`

/** A WatchedFleet is two nodes of two workers on one Redis, with a Prometheus that reads their metrics. */
export interface WatchedFleet {
  readonly nodes: readonly Started[]
  readonly redis: RedisServer
  readonly prometheus: PrometheusServer
  /** Puts other rules in the place of those that are there: what follows is added to them. */
  changeRules(more: string): void
  stop(): Promise<void>
}

/** Starts one, and resolves when both nodes have been read. */
export async function watchFleet(): Promise<WatchedFleet> {
  const redis = await startRedis()
  const rules = join(makeTemporaryDir('watched'), 'rules')
  const changeRules = (more: string): void => {
    mkdirSync(rules, { recursive: true })
    const draft = join(dirname(rules), 'draft')
    writeFileSync(draft, RULES + more)
    renameSync(draft, join(rules, 'api.yaml'))
  }
  changeRules('')
  const elsewhere = await unsteadyRules()
  // Time enough that only a Redis that is away is taken for one.
  const args = ['--workers', '2', '--rules', rules, '--redis-timeout', '250ms', '--shed-worker', 'shadow']
  args.push('--rules', elsewhere.url, '--rules-poll', '1s')
  const env = { REDIS_URL: redis.url, SLUICE_SECRET: 'a secret of this test', LOG_LEVEL: 'warn' }
  const children: ChildProcess[] = []
  const start = (): Promise<Started> => launch((child) => children.push(child), env, ...args)
  const nodes = await Promise.all([start(), start()])
  elsewhere.beginToFail()
  const prometheus = await startPrometheus({ config: configFor(nodes) })
  const stop = async (): Promise<void> => {
    elsewhere.stop()
    await Promise.all([prometheus.stop(), redis.stop(), ...children.map(kill)])
  }
  await until('both nodes were read', async () => (await prometheus.value('count(ratelimit_build_info)')) === 2)
  return { nodes, redis, prometheus, changeRules, stop }
}

/** An address of rules that fails every third time, from a moment on: without its rules, a node does not start. */
async function unsteadyRules(): Promise<{ readonly url: string; beginToFail(): void; stop(): void }> {
  let asked = 0
  let isUnsteady = false
  const text = 'domain: elsewhere\ndescriptors: []\n'
  const server = createServer((_, response) => {
    if (isUnsteady && ++asked % 3 === 0) response.writeHead(503).end()
    else response.writeHead(200, { 'content-length': text.length }).end(text)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rules.yaml`,
    beginToFail: () => {
      isUnsteady = true
    },
    stop: () => server.close(),
  }
}

const configFor = (nodes: readonly Started[]): string =>
  JSON.stringify({
    // A node that is not read in time has told nothing: on a busy machine, a page may take longer than half a second.
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '400ms' },
    rule_files: [join(DEPLOY, 'rules.yml'), join(DEPLOY, 'alerts.yml')],
    scrape_configs: [
      { job_name: 'sluice', static_configs: [{ targets: nodes.map(({ admin }) => new URL(admin).host) }] },
    ],
  })

/**
 * Has a fleet live through load, a Redis that hangs, dies and comes back, rules that are wrong, and good ones. It
 * returns what callers were answered.
 */
export async function liveThrough(fleet: WatchedFleet): Promise<Answered> {
  const { prometheus, redis } = fleet
  const load = startMixedLoad(fleet.nodes)
  const comes = (what: string, expression: string): Promise<unknown> =>
    until(what, async () => (await prometheus.query(expression)).length > 0)

  await comes('both nodes refuse at every door', 'count(ratelimit_requests_total{outcome="denied"} > 20) == 6')
  await comes('both nodes hold slices', 'count(ratelimit_slices_held > 0) == 2')
  await redis.pause()
  await comes('both circuits were seen open', 'count(max_over_time(ratelimit_circuit_state[1m]) == 2) == 2')
  await comes('every mode answers on both nodes', 'count(sum by (instance, mode) (ratelimit_fallback_total) > 0) == 6')
  await redis.kill()
  await comes(
    'both nodes go without it',
    'count(sum by (instance) (ratelimit_fallback_total{reason="offline"}) > 0) == 2',
  )
  await comes('the alert notices, which is evaluated every five seconds', 'ALERTS{alertname="SluiceCircuitOpen"}')
  await redis.restart()
  await comes('both circuits are closed', 'count(ratelimit_circuit_state == 0) == 2')

  fleet.changeRules('  - { key: wrong, rate_limit: { unit: fortnight, requests_per_unit: 1 } }\n')
  await comes('both nodes refuse the rules', 'count(ratelimit_config_last_load_successful == 0) == 2')
  fleet.changeRules('  - { key: more, rate_limit: { unit: day, requests_per_unit: 1 } }\n')
  await comes(
    'both nodes have the next rules',
    'count(ratelimit_config_rules == 9 and ratelimit_config_last_load_successful == 1) == 2',
  )

  return load.stop()
}
