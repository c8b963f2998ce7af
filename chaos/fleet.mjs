import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startCluster } from '../tests/servers/cluster.mjs'
import { freePort } from '../tests/servers/ports.mjs'
import { startPostgres } from '../tests/servers/postgres.mjs'
import { startProxy } from '../tests/servers/proxy.mjs'
import { makeTemporaryDir, reapAtExit } from '../tests/servers/reaper.mjs'
import { startRedis } from '../tests/servers/redis.mjs'
import { startSentinel } from '../tests/servers/sentinel.mjs'
import { until } from '../tests/servers/until.mjs'

const SLUICE = fileURLToPath(new URL('../server/bin/sluice.mjs', import.meta.url))
/** How many checks pass on one key in an hour. It is reached while the fault lasts. */
export const LIMIT = 400

export const RULES = `domain: chaos
descriptors:
  - key: checked
    rate_limit: { unit: hour, requests_per_unit: ${LIMIT} }
  - key: counted
    rate_limit: { unit: day, requests_per_unit: 1000000000 }
`

/**
 * Starts two nodes with what a fault needs: a Redis behind a proxy, a Redis with Sentinels, or a cluster; workers; a
 * database.
 */
export async function startFleet({ redis: kind = 'proxy', workers = 1, hasDatabase = false } = {}) {
  const dir = makeTemporaryDir('chaos')
  const rulesDir = join(dir, 'rules')
  mkdirSync(rulesDir)
  const rules = join(rulesDir, 'chaos.yaml')
  writeFileSync(rules, RULES)
  const stores = await startStores(kind)
  const postgres = hasDatabase ? await startPostgres() : undefined
  const env = {
    REDIS_URL: stores.url,
    SLUICE_SECRET: 'a secret of this fleet',
    ...(postgres && { DATABASE_URL: postgres.url() }),
  }
  const nodes = [new Node(rulesDir, workers, env), new Node(rulesDir, workers, env)]
  const fleet = { ...stores, postgres, nodes, rules, stop }
  try {
    for (const node of nodes) await node.start()
  } catch (error) {
    await stop()
    throw error
  }
  return fleet

  async function stop() {
    for (const node of nodes) await node.kill()
    await stores.stop()
    await postgres?.stop()
  }
}

async function startStores(kind) {
  if (kind === 'sentinel') {
    const sentinel = await startSentinel({ downAfterMs: 1_000 })
    const hosts = sentinel.addresses.map(({ host, port }) => `${host}:${port}`)
    return { sentinel, url: `redis+sentinel://${hosts.join(',')}/${sentinel.name}`, stop: () => sentinel.stop() }
  }
  if (kind === 'cluster') {
    const cluster = await startCluster({ nodeTimeoutMs: 1_500 })
    const [{ port }] = cluster.nodes
    return { cluster, url: `redis+cluster://127.0.0.1:${port}`, stop: () => cluster.stop() }
  }
  const redis = await startRedis()
  const proxy = await startProxy(redis.port)
  const stop = async () => {
    await proxy.stop()
    await redis.stop()
  }
  return { redis, proxy, url: proxy.url, stop }
}

/** A node is one `sluice serve`. It keeps its ports when it is started again, as behind a load balancer. */
class Node {
  #args
  #env
  #child
  #text = ''
  http = ''
  admin = ''

  constructor(rulesDir, workers, env) {
    this.#args = ['serve', '--rules', rulesDir, '--workers', String(workers), '--metrics-open', '--host', '127.0.0.1']
    this.#env = { ...process.env, ...env, LOG_FORMAT: 'json', LOG_LEVEL: 'debug', NODE_OPTIONS: '' }
  }

  get pid() {
    return this.#child.pid
  }

  get text() {
    return this.#text
  }

  async start() {
    if (this.http === '') {
      this.http = `127.0.0.1:${await freePort()}`
      this.admin = `127.0.0.1:${await freePort()}`
    }
    const ports = ['--http-port', this.http.split(':')[1], '--admin-port', this.admin.split(':')[1], '--grpc-port', '0']
    this.#child = spawn(process.execPath, [SLUICE, ...this.#args, ...ports], {
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    reapAtExit(this.#child)
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream.on('data', (chunk) => (this.#text += chunk))
    const isReady = async () => {
      if (this.#child.exitCode !== null) throw new Error(`a node ended: ${this.#text}`)
      return (await fetch(`http://${this.http}/readyz`).catch(() => undefined))?.status === 200
    }
    await until('a node is ready', isReady)
    await until(
      'a node decides by Redis',
      async () => (await this.check('ready')).headers.get('sluice-fallback') === null,
    )
  }

  /** Asks about one caller. */
  check(key, cost = 1) {
    return fetch(`http://${this.http}/v1/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ domain: 'chaos', cost, descriptors: [{ entries: [{ key, value: 'one' }] }] }),
    })
  }

  /** Returns the processes of its workers. */
  workers() {
    const ready = [...this.#text.matchAll(/worker \d+ \(process (\d+)\) is ready/g)]
    return ready.map(([, pid]) => Number(pid))
  }

  /** Returns the sum of each family of metrics, or undefined where the node does not answer. */
  async metrics() {
    const signal = AbortSignal.timeout(2_000)
    const response = await fetch(`http://${this.admin}/metrics`, { signal }).catch(() => undefined)
    if (response?.status !== 200) return undefined
    const text = await response.text().catch(() => '')
    const sums = new Map()
    for (const [, name, value] of text.matchAll(/^(\w+)(?:\{[^\n]*\})? (\S+)$/gm)) {
      sums.set(name, (sums.get(name) ?? 0) + Number(value))
    }
    return sums
  }

  pause() {
    this.#child.kill('SIGSTOP')
  }

  resume() {
    this.#child.kill('SIGCONT')
  }

  kill() {
    return this.end('SIGKILL')
  }

  async end(signal) {
    if (this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill(signal)
    await ended
  }
}
