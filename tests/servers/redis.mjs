// @ts-check
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requireCommand } from '../../scripts/system-packages.mjs'
import { makeCertificates } from './certificates.mjs'
import { freePort } from './ports.mjs'
import { makeTemporaryDir } from './reaper.mjs'
import { connectResp } from './resp.mjs'
import { ServerProcess } from './server-process.mjs'
import { until } from './until.mjs'

const execute = promisify(execFile)

/**
 * @typedef {object} RedisOptions
 * @property {string[]} [args] more settings, as the command line takes them: `['--maxmemory-policy', 'noeviction']`
 * @property {Record<string, string>} [acl] more users and their rights: `{ app: 'on >secret ~sluice:* +@all' }`
 * @property {string} [password] of the default user, which the kit itself uses
 * @property {boolean | 'mutual'} [tls] TLS only; 'mutual' asks clients for a certificate too
 * @property {boolean} [unixSocket] listens on a Unix socket as well
 * @property {string} [dir] where its data is; the default is a temporary folder that stop() removes
 */

/**
 * @typedef {object} RedisAddress
 * @property {number} port
 * @property {string} [password]
 * @property {string} [socketPath]
 * @property {{ ca: string, cert: string, key: string }} [tls] options for node:tls; cert and key are a client's
 * @property {string} [certificateDir]
 */

/** A way to talk to a Redis that somebody else may have started. */
export class RedisEndpoint {
  /** @param {RedisAddress} address */
  constructor(address) {
    this.address = address
    this.host = '127.0.0.1'
    this.port = address.port
    this.tls = address.tls
    this.password = address.password
    this.socketPath = address.socketPath
  }

  /** What a user would write into REDIS_URL. */
  get url() {
    const credentials = this.password === undefined ? '' : `:${encodeURIComponent(this.password)}@`
    return `${this.tls === undefined ? 'redis' : 'rediss'}://${credentials}${this.host}:${this.port}`
  }

  /** isUp is false when it is known not to answer. */
  get isUp() {
    return true
  }

  /**
   * Opens a connection of the default user, or of another.
   * @param {{ username?: string, password?: string }} [user]
   */
  connect(user = {}) {
    const { port, password, tls } = this.address
    return connectResp({ port, ...(tls && { tls }), ...(password !== undefined && { password }), ...user })
  }

  /**
   * Sends one command on a connection of its own and returns the reply; an error of Redis rejects.
   * @param {...(string | number | Buffer)} args
   */
  async call(...args) {
    const connection = await this.connect()
    try {
      return await connection.send(...args)
    } finally {
      connection.close()
    }
  }

  /**
   * Returns one field of INFO, CLUSTER INFO and their like: `field('role', 'INFO', 'replication')`.
   * @param {string} name
   * @param {...string} command
   */
  async field(name, ...command) {
    return new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(String(await this.call(...command)))?.[1]
  }

  /**
   * Runs redis-cli and returns what it prints, without the last line break; an error of Redis rejects.
   * @param {...(string | number)} args
   * @returns {Promise<string>}
   */
  async cli(...args) {
    const { certificateDir: certificates, password } = this.address
    const tls = certificates === undefined ? [] : ['--tls', ...tlsFlags(certificates)]
    const { stdout } = await execute(
      requireCommand('redis-cli'),
      ['-p', `${this.port}`, '-e', ...tls, ...args.map(String)],
      {
        env: { ...process.env, ...(password !== undefined && { REDISCLI_AUTH: password }) },
      },
    )
    return stdout.replace(/\n$/, '')
  }
}

/** @param {string} dir */
const tlsFlags = (dir) =>
  ['--cacert', 'ca.crt', '--cert', 'client.crt', '--key', 'client.key'].map((each) =>
    each.startsWith('--') ? each : join(dir, each),
  )

/** A Redis that this process has started, and that ends with it. */
export class RedisServer extends RedisEndpoint {
  #dir
  #args
  #process
  #ownsDir

  /** @param {{ address: RedisAddress, dir: string, ownsDir: boolean, args: string[] }} settings */
  constructor({ address, dir, ownsDir, args }) {
    super(address)
    this.#dir = dir
    this.#ownsDir = ownsDir
    this.#args = args
    this.#process = this.#launch()
  }

  #launch() {
    return new ServerProcess({ command: 'redis-server', args: this.#args, dir: this.#dir })
  }

  get pid() {
    return this.#process.pid
  }

  get dir() {
    return this.#dir
  }

  get isRunning() {
    return this.#process.isRunning
  }

  /**
   * Returns whether it runs and is not paused.
   * @override
   */
  get isUp() {
    return this.#process.isUp
  }

  /** Returns what it has printed since it was last started. */
  log() {
    return this.#process.log()
  }

  /** Resolves when this very process answers, and rejects with its log when it ends instead. */
  async ready() {
    await until(`Redis answers on port ${this.port}`, async () => (await this.#answers()) || !this.isRunning)
    if (!this.isRunning) throw new Error(`Redis ended on port ${this.port}: ${this.log().trim()}`)
  }

  /** The process id tells it from a stranger that was faster to take the port. */
  async #answers() {
    if (!this.isRunning) return false
    return (await this.call('PING')) === 'PONG' && (await this.field('process_id', 'INFO', 'server')) === `${this.pid}`
  }

  /** Ends it with SIGKILL; restart() brings it back. */
  kill() {
    return this.#process.kill()
  }

  /** Stops it with SIGSTOP: connections open, since the system accepts them, but nothing answers. */
  pause() {
    return this.#process.pause()
  }

  /** Ends a pause with SIGCONT; what was sent meanwhile is answered. */
  resume() {
    this.#process.resume()
  }

  /** Starts it again on the same port, after an orderly end if it runs. Data stays only if args persist it. */
  async restart() {
    await this.#process.terminate()
    this.#process = this.#launch()
    await this.ready()
  }

  /** Ends it for good and removes its temporary folder. */
  async stop() {
    await this.kill()
    if (this.#ownsDir) rmSync(this.#dir, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose]() {
    await this.stop()
  }
}

/**
 * Starts a Redis on a free loopback port, without persistence, and resolves when it answers.
 * @param {RedisOptions} [options]
 * @returns {Promise<RedisServer>}
 */
export async function startRedis({ args = [], acl = {}, password, tls = false, unixSocket = false, dir } = {}) {
  const settings = Object.entries(acl).map(([user, rights]) => `user ${user} ${rights}`)
  if (password !== undefined) settings.push(`requirepass ${quote(password)}`, `masterauth ${quote(password)}`)
  return launchRedis({
    ...(dir !== undefined && { dir }),
    args,
    prepare: async (port, home) => {
      const socketPath = unixSocket ? join(home, 'redis.sock') : undefined
      const certificates = tls ? await makeCertificates(home) : undefined
      return {
        address: {
          port,
          ...(password !== undefined && { password }),
          ...(socketPath !== undefined && { socketPath }),
          ...(certificates && { tls: certificates, certificateDir: home }),
        },
        settings: [
          ...(tls ? tlsSettings(port, home, tls) : [`port ${port}`]),
          ...(socketPath === undefined ? [] : [`unixsocket ${socketPath}`]),
          ...settings,
        ],
      }
    },
  })
}

/** @param {string} text */
const quote = (text) => `"${text.replace(/["\\]/g, '\\$&')}"`

/**
 * @param {number} port
 * @param {string} dir
 * @param {boolean | 'mutual'} tls
 */
const tlsSettings = (port, dir, tls) => [
  'port 0',
  `tls-port ${port}`,
  `tls-ca-cert-file ${join(dir, 'ca.crt')}`,
  `tls-cert-file ${join(dir, 'server.crt')}`,
  `tls-key-file ${join(dir, 'server.key')}`,
  `tls-auth-clients ${tls === 'mutual' ? 'yes' : 'no'}`,
]

/** @param {string} dir */
const commonSettings = (dir) => ['bind 127.0.0.1', 'protected-mode yes', `dir ${dir}`]

// A replica gets its data at once instead of after 5 s, in which others might come, and its first ping after 1 s instead
// of 10 s: a cluster lists no replica that has not heard anything since.
const dataSettings = ['save ""', 'appendonly no', 'repl-diskless-sync-delay 0', 'repl-ping-replica-period 1']

/**
 * Starts redis-server with the settings that `prepare` gives for a port, and with another port when somebody else was
 * faster to take that one.
 * @param {object} plan
 * @param {(port: number, dir: string) => Promise<{ address: RedisAddress, settings: string[] }>} plan.prepare
 * @param {string[]} [plan.args]
 * @param {string} [plan.dir]
 * @param {boolean} [plan.sentinel]
 * @returns {Promise<RedisServer>}
 */
export async function launchRedis({ prepare, args = [], dir, sentinel = false }) {
  const home = dir ?? makeTemporaryDir('redis')
  const config = join(home, 'redis.conf')
  for (let attempt = 1; ; attempt++) {
    const { address, settings } = await prepare(await freePort(), home)
    const lines = [...commonSettings(home), ...(sentinel ? [] : dataSettings), ...settings]
    writeFileSync(config, `${lines.join('\n')}\n`)
    const server = new RedisServer({
      address,
      dir: home,
      ownsDir: dir === undefined,
      args: [config, ...(sentinel ? ['--sentinel'] : []), ...args],
    })
    try {
      await server.ready()
      return server
    } catch (error) {
      await server.kill()
      if (attempt === 5 || !/Address already in use|Failed listening/.test(server.log())) throw error
    }
  }
}
