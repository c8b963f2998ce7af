// @ts-check
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../servers/ports.mjs'
import { makeTemporaryDir, reapAtExit } from '../servers/reaper.mjs'
import { until } from '../servers/until.mjs'

const MAIN = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))

/** The tokens of a stand, by role. */
export const TOKENS = {
  admin: 'admin-token-of-the-dashboard-tests',
  operator: 'operator-token-of-the-dashboard-tests',
  viewer: 'viewer-token-of-the-dashboard-tests',
}

/**
 * Ask does an operation of the admin API, and throws what is no success.
 * @typedef {(method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<any>} Ask
 */

/** A Stand is a service of one or more nodes on one Redis and one PostgreSQL, for a browser to look at. */
export class Stand {
  /** @type {StandNode[]} */
  nodes = []
  #options

  /** @param {{ redisUrl: string, databaseUrl: string, keyPrefix: string, rules: Record<string, string>, workers?: number }} options */
  constructor(options) {
    this.#options = options
    this.#rules = makeTemporaryDir('dashboard-rules')
    for (const [name, text] of Object.entries(options.rules)) writeFileSync(join(this.#rules, name), text)
  }
  #rules

  /** Adds a node, and resolves when it serves. */
  async start() {
    const { redisUrl, databaseUrl, keyPrefix, workers = 1 } = this.#options
    const node = new StandNode(
      ['--rules', this.#rules, '--key-prefix', keyPrefix, '--workers', `${workers}`],
      {
        REDIS_URL: redisUrl,
        DATABASE_URL: databaseUrl,
        SLUICE_SECRET: 'the secret of the dashboard tests',
        SLUICE_ADMIN_TOKEN: `${TOKENS.admin},operator:${TOKENS.operator},viewer:${TOKENS.viewer}`,
      },
      { http: await freePort(), admin: await freePort() },
    )
    this.nodes.push(node)
    await node.start()
    return node
  }

  /** Where the dashboard is. */
  get admin() {
    return this.nodes[0].admin
  }

  get http() {
    return this.nodes[0].http
  }

  /**
   * Returns a way to ask the first node's API with a token.
   * @param {string} token
   * @returns {Ask}
   */
  askAs(token) {
    return async (method, path, body, headers = {}) => {
      const response = await fetch(`${this.admin}/admin/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    }
  }

  /**
   * Asks for a decision, and returns its status.
   * @param {string} domain
   * @param {Record<string, string>} entries
   * @param {number} [cost]
   */
  async check(domain, entries, cost) {
    return (await this.decide(domain, entries, cost)).status
  }

  /**
   * @param {string} domain
   * @param {Record<string, string>} entries
   * @param {number} [cost]
   * @returns {Promise<{ status: number, verdicts: { limit: number }[] }>}
   */
  async decide(domain, entries, cost) {
    const body = { domain, descriptors: [{ entries: Object.entries(entries).map(([key, value]) => ({ key, value })) }] }
    const response = await fetch(`${this.http}/v1/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(cost === undefined ? body : { ...body, cost }),
    })
    return { status: response.status, .../** @type {{ verdicts: { limit: number }[] }} */ (await response.json()) }
  }

  async stop() {
    await Promise.all(this.nodes.map((node) => node.stop()))
  }
}

/** A StandNode is one node. It can be stopped and started again at the same addresses. */
class StandNode {
  #args
  #env
  #ports
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child
  #log = ''

  /**
   * @param {string[]} args
   * @param {Record<string, string>} env
   * @param {{ http: number, admin: number }} ports
   */
  constructor(args, env, ports) {
    this.#args = args
    this.#env = env
    this.#ports = ports
  }

  get admin() {
    return `http://localhost:${this.#ports.admin}`
  }

  get http() {
    return `http://localhost:${this.#ports.http}`
  }

  async start() {
    const { http, admin } = this.#ports
    const ports = ['--http-port', `${http}`, '--grpc-port', '0', '--admin-port', `${admin}`]
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(process.execPath, [MAIN, 'serve', ...ports, ...this.#args], {
      env: { PATH, HOME, LOG_FORMAT: 'text', LOG_LEVEL: 'warn', ...this.#env },
    })
    this.#child = child
    reapAtExit(child)
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        this.#log += chunk
      })
    }
    await until(
      `the node at ${this.admin} serves its API`,
      async () => {
        if (child.exitCode !== null) return true
        const headers = { authorization: `Bearer ${TOKENS.admin}` }
        return (await fetch(`${this.admin}/admin/v1/customers`, { headers })).ok
      },
      60_000,
    )
    if (child.exitCode !== null) throw new Error(`the node ended: ${this.#log}`)
  }

  /** @param {NodeJS.Signals} [signal] */
  async stop(signal = 'SIGKILL') {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}
