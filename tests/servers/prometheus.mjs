// @ts-check
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requireCommand } from '../../scripts/system-packages.mjs'
import { freePort } from './ports.mjs'
import { makeTemporaryDir } from './reaper.mjs'
import { ServerProcess } from './server-process.mjs'
import { until } from './until.mjs'

const execute = promisify(execFile)

/**
 * A Sample is one element of an instant vector.
 * @typedef {{ labels: Record<string, string>, value: number }} Sample
 */

/**
 * A RuleState says how a rule of Prometheus is. `health` is "unknown" before the first evaluation.
 * @typedef {{ name: string, type: 'recording' | 'alerting', health: 'ok' | 'err' | 'unknown', lastError?: string }} RuleState
 */

/**
 * Runs promtool and returns what it prints; it rejects, with the same, when promtool finds something wrong.
 * @param {...string} args
 * @returns {Promise<string>}
 */
export async function promtool(...args) {
  const { stdout, stderr } = await execute(requireCommand('promtool'), args)
  return stdout + stderr
}

/** A Prometheus that this process has started, and that ends with it. */
export class PrometheusServer {
  #dir
  #process

  /** @param {{ dir: string, port: number }} settings */
  constructor({ dir, port }) {
    this.#dir = dir
    this.url = `http://127.0.0.1:${port}`
    this.#process = new ServerProcess({
      command: 'prometheus',
      args: [
        `--config.file=${join(dir, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(dir, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=warn',
      ],
      dir,
    })
  }

  get isRunning() {
    return this.#process.isRunning
  }

  /** Returns what it has printed. */
  log() {
    return this.#process.log()
  }

  /** Resolves when it answers queries, and rejects with its log when it ends instead. */
  async ready() {
    const answers = async () => (await fetch(`${this.url}/-/ready`)).ok
    await until(`Prometheus answers at ${this.url}`, async () => !this.isRunning || (await answers()))
    if (!this.isRunning) throw new Error(`Prometheus ended: ${this.log().trim()}`)
  }

  /**
   * Evaluates an expression that is a vector, now or at another time (in seconds). A wrong one rejects.
   * @param {string} expression
   * @param {number} [at]
   * @returns {Promise<Sample[]>}
   */
  async query(expression, at) {
    const form = new URLSearchParams({ query: expression, ...(at !== undefined && { time: `${at}` }) })
    /** @type {{ result: { metric: Record<string, string>, value: [number, string] }[] }} */
    const { result } = await this.#ask('query', form)
    return result.map(({ metric, value: [, text] }) => ({ labels: metric, value: toNumber(text) }))
  }

  /**
   * Returns the only value of an expression, and undefined when there is none.
   * @param {string} expression
   * @returns {Promise<number | undefined>}
   */
  async value(expression) {
    const samples = await this.query(expression)
    if (samples.length > 1) throw new Error(`${expression} has ${samples.length} values`)
    return samples[0]?.value
  }

  /**
   * Returns all that was ever scraped or recorded, as labels.
   * @returns {Promise<Record<string, string>[]>}
   */
  series() {
    return this.#ask('series', new URLSearchParams({ 'match[]': '{__name__!=""}' }))
  }

  /**
   * Returns how the last evaluation of each rule went.
   * @returns {Promise<RuleState[]>}
   */
  async rules() {
    /** @type {{ groups: { rules: RuleState[] }[] }} */
    const { groups } = await this.#ask('rules', new URLSearchParams())
    return groups.flatMap((group) => group.rules)
  }

  /**
   * @template T
   * @param {string} path
   * @param {URLSearchParams} form
   * @returns {Promise<T>}
   */
  async #ask(path, form) {
    const response = await fetch(`${this.url}/api/v1/${path}?${form}`)
    const answer = /** @type {{ data: T, error?: string }} */ (await response.json())
    if (!response.ok) throw new Error(`${form.get('query')}: ${answer.error}`)
    return answer.data
  }

  /** Ends it for good and removes its data. */
  async stop() {
    await this.#process.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose]() {
    await this.stop()
  }
}

/** @param {string} text */
const toNumber = (text) => Number(text.replace('Inf', 'Infinity'))

/**
 * Starts a Prometheus on a free loopback port, with its data in a temporary folder, and resolves when it answers.
 * `config` is the text of prometheus.yml.
 * @param {{ config: string }} options
 * @returns {Promise<PrometheusServer>}
 */
export async function startPrometheus({ config }) {
  const dir = makeTemporaryDir('prometheus')
  writeFileSync(join(dir, 'prometheus.yml'), config)
  for (let attempt = 1; ; attempt++) {
    const server = new PrometheusServer({ dir, port: await freePort() })
    try {
      await server.ready()
      return server
    } catch (error) {
      const log = server.log()
      if (attempt === 5 || !log.includes('address already in use')) {
        await server.stop()
        throw error
      }
    }
  }
}
