import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { connected, firstTokenOf, run, type Started, startWith } from '../cli/sluice-process.suite.ts'
import { makeTemporaryDir } from '../servers/reaper.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

export const SECRET = 'the secret of this fleet'
export const API_KEY = 'sk_live_0123456789abcdef'

const RULES = `
domain: shop
tiers: {pro: {rate_limit: {unit: day, requests_per_unit: 100, algorithm: fixed_window, anchor: first_hit, timeout_ms: 5000}}}
descriptors:
  - {key: api_key, secret: true, tiered: true, rate_limit: {unit: day, requests_per_unit: 2, algorithm: fixed_window, anchor: first_hit, timeout_ms: 5000}}
`

/** A QuotaFleet is nodes that share a Redis and a place for quotas. */
export class QuotaFleet {
  readonly rules = new RuleDirectory({ 'shop.yaml': RULES })
  readonly #prefix = `fleet-${randomBytes(6).toString('hex')}:`
  readonly #env: Record<string, string>
  readonly #args: readonly string[]
  readonly nodes: Started[] = []
  token = ''

  /** `env` says where quotas are kept. */
  constructor(env: Record<string, string>, ...args: string[]) {
    const firstTokenFile = join(makeTemporaryDir('fleet'), 'first-token')
    this.#env = { ...env, SLUICE_SECRET: SECRET, SLUICE_FIRST_TOKEN_FILE: firstTokenFile }
    this.#args = args
  }

  /**
   * Starts a node, in the place of one that has ended or as another. Before it is connected to Redis, it counts by
   * itself.
   */
  async start(at = this.nodes.length): Promise<Started> {
    const node = await this.launch(at)
    await connected(node)
    return node
  }

  /** launch is start without waiting for anything but its welcome. */
  async launch(at = this.nodes.length): Promise<Started> {
    const { url } = await sharedRedis()
    const args = ['--health-needs-redis', '--rules', this.rules.path, '--key-prefix', this.#prefix, ...this.#args]
    const node = await startWith({ ...this.#env, REDIS_URL: url }, ...args)
    this.nodes[at] = node
    return node
  }

  /** Resolves with the first token, which one of the nodes has made. */
  async firstToken(node: Started): Promise<string> {
    this.token = await firstTokenOf(node)
    return this.token
  }

  /** Sends a request to the admin API of a node. */
  async ask(node: Started, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(`${node.admin}/admin/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const json = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> & { id: string; code?: string }
    const header = (name: string): string => response.headers.get(name) ?? ''
    return { status: response.status, etag: header('etag'), inForce: header('sluice-in-force'), json, text }
  }

  /**
   * Makes requests of the customer to every node, on connections of their own so that all workers get some: `+` for one
   * that is admitted, `-` for one over the limit, `B` for one that is blocked.
   */
  async check(times: number, nodes: readonly Started[] = this.nodes): Promise<string> {
    const body = JSON.stringify({ domain: 'shop', descriptors: [{ entries: [{ key: 'api_key', value: API_KEY }] }] })
    const headers = { connection: 'close', 'content-type': 'application/json' }
    let text = ''
    for (const { url } of nodes) {
      for (let i = 0; i < times; i++) {
        const { status } = await fetch(`${url}/v1/check`, { method: 'POST', body, headers })
        text += status === 200 ? '+' : status === 403 ? 'B' : status === 429 ? '-' : `(${status})`
      }
    }
    return text
  }

  /** What some workers of every node say that a caller has under the rules of a domain; 0: no rule is about them. */
  async limitsOf(
    domain: string,
    times: number,
    entry: { readonly key: string; readonly value: string } = { key: 'user', value: 'a' },
  ): Promise<number[]> {
    const body = JSON.stringify({ domain, descriptors: [{ entries: [entry] }], cost: 0 })
    const headers = { connection: 'close', 'content-type': 'application/json' }
    const all: number[] = []
    for (const { url } of this.nodes) {
      for (let i = 0; i < times; i++) {
        const response = await fetch(`${url}/v1/check`, { method: 'POST', body, headers })
        const { verdicts } = (await response.json()) as { verdicts: { limit: number }[] }
        all.push(verdicts[0]?.limit ?? 0)
      }
    }
    return all
  }

  /** Does something while a process stands still. */
  async whileStopped<T>(pid: number | undefined, work: () => Promise<T>): Promise<T> {
    process.kill(pid as number, 'SIGSTOP')
    try {
      return await work()
    } finally {
      process.kill(pid as number, 'SIGCONT')
    }
  }

  /** Resolves when all nodes have the same changes, and some. */
  async agrees(): Promise<void> {
    await until('all nodes have the same changes', async () => {
      const told = await Promise.all(this.nodes.map((node) => this.ask(node, 'GET', 'nodes')))
      const revisions = told.flatMap(({ json }) =>
        (json.nodes as { revision: number }[]).map(({ revision }) => revision),
      )
      return revisions.length === this.nodes.length ** 2 && new Set(revisions).size === 1 && revisions[0] >= 2
    })
  }

  /** Ends a node with SIGKILL. */
  async kill(at: number): Promise<void> {
    const { child } = this.nodes[at]
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async stop(at: number): Promise<void> {
    const { child } = this.nodes[at]
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }

  /** Where a command finds the Redis of the nodes. */
  async redis(): Promise<readonly string[]> {
    return ['--redis', (await sharedRedis()).url, '--key-prefix', this.#prefix]
  }

  /** Carries out a command in the environment of the nodes. */
  run(...args: string[]) {
    return run(args, { env: this.#env })
  }
}
