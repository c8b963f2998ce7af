// @ts-check
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { requireCommand } from '../../scripts/system-packages.mjs'
import { freePort } from './ports.mjs'
import { makeTemporaryDir } from './reaper.mjs'
import { ServerProcess } from './server-process.mjs'
import { until } from './until.mjs'

const execute = promisify(execFile)

const superuser = 'sluice'

/**
 * @typedef {object} PostgresAddress
 * @property {number} port
 * @property {string} password of the superuser
 */

/** A way to talk to a PostgreSQL that somebody else may have started. */
export class PostgresEndpoint {
  /** @param {PostgresAddress} address */
  constructor(address) {
    this.address = address
    this.port = address.port
  }

  /**
   * What a user would write into DATABASE_URL.
   * @param {string} [database]
   */
  url(database = 'postgres') {
    return `postgres://${superuser}:${this.address.password}@127.0.0.1:${this.port}/${database}`
  }

  /**
   * Runs SQL as the superuser, on a connection of its own, and returns the rows.
   * @param {string} sql
   * @param {{ database?: string, values?: unknown[] }} [options]
   * @returns {Promise<Record<string, unknown>[]>}
   */
  async run(sql, { database, values } = {}) {
    const client = new pg.Client({ connectionString: this.url(database), connectionTimeoutMillis: 5000 })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql, values)).rows
    } finally {
      await client.end()
    }
  }

  /** Makes an empty database with a name of its own, and returns the name. */
  async createDatabase() {
    const name = `test_${randomBytes(6).toString('hex')}`
    await this.run(`CREATE DATABASE ${name}`)
    return name
  }
}

/** A PostgreSQL that this process has started, and that ends with it. */
export class PostgresServer extends PostgresEndpoint {
  #dir
  #settings
  #process

  /**
   * @param {PostgresAddress} address
   * @param {string} dir
   * @param {readonly string[]} [more] settings
   */
  constructor(address, dir, more = []) {
    super(address)
    this.#dir = dir
    this.#settings = [...settings, ...more]
    this.#process = this.#launch()
  }

  #launch() {
    const data = join(this.#dir, 'data')
    return new ServerProcess({
      command: 'postgres',
      args: ['-D', data, '-p', `${this.port}`, '-k', this.#dir, ...this.#settings.flatMap((each) => ['-c', each])],
      dir: this.#dir,
      ...unprivileged(),
    })
  }

  get pid() {
    return this.#process.pid
  }

  get isRunning() {
    return this.#process.isRunning
  }

  log() {
    return this.#process.log()
  }

  /** Resolves when it answers, and rejects with its log when it ends instead. */
  async ready() {
    await until(`PostgreSQL answers on port ${this.port}`, async () => !this.isRunning || (await this.run('SELECT 1')))
    if (!this.isRunning) throw new Error(`PostgreSQL ended on port ${this.port}: ${this.log().trim()}`)
  }

  /** Ends it with SIGKILL; restart() brings it back. Its backends end when they notice. */
  kill() {
    return this.#process.kill()
  }

  /** Ends it as `pg_ctl stop -m immediate` does; restart() recovers what was committed. */
  crash() {
    return this.#process.end('SIGQUIT')
  }

  /** Stops the process that accepts connections: nobody gets a new one. */
  pause() {
    return this.#process.pause()
  }

  resume() {
    this.#process.resume()
  }

  /** Starts it again on the same port, with its data. */
  async restart() {
    await this.#process.end('SIGINT')
    await until(
      'PostgreSQL starts again, after the last backend of the one before has ended',
      async () => {
        this.#process = this.#launch()
        await this.ready()
        return true
      },
      30_000,
    )
  }

  /** Ends it for good and removes its temporary folder. */
  async stop() {
    await this.#process.end('SIGQUIT')
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose]() {
    await this.stop()
  }
}

// Nothing here has to survive a power cut; a SIGKILL it survives without fsync.
const settings = [
  'fsync=off',
  'synchronous_commit=on',
  'full_page_writes=off',
  'listen_addresses=127.0.0.1',
  'max_connections=100',
  'shared_buffers=16MB',
  'dynamic_shared_memory_type=mmap',
]

/** unprivileged is whom PostgreSQL runs as where this process is root, which it refuses to be. */
function unprivileged() {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (found === undefined) throw new Error('PostgreSQL does not run as root, and /etc/passwd has no postgres or nobody')
  return { user: { uid: Number(found[2]), gid: Number(found[3]) } }
}

/**
 * Puts an empty database into a folder: a copy of the first of the test run, since initdb takes twenty times as long.
 * Two that are the first at the same time each make one, and one of them is kept.
 * @param {string} dir
 * @param {{ uid: number, gid: number } | undefined} user
 */
async function fillData(dir, user) {
  const data = join(dir, 'data')
  const { TEST_POSTGRES_DATA: kept = data } = process.env
  if (!existsSync(kept)) await initialize(data, user)
  if (kept === data) return
  if (existsSync(data)) await rename(data, kept).catch(() => rm(data, { recursive: true }))
  await execute('cp', ['-a', kept, data])
}

/**
 * Makes an empty database.
 * @param {string} data
 * @param {{ uid: number, gid: number } | undefined} user
 */
async function initialize(data, user) {
  mkdirSync(data)
  if (user !== undefined) chownSync(data, user.uid, user.gid)
  const options = ['-U', superuser, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  await execute(requireCommand('initdb'), ['-D', data, ...options], { cwd: dirname(data), ...user })
}

/**
 * Starts a PostgreSQL on a free loopback port, in a temporary folder, and resolves when it answers. `more` are
 * settings in place of ours.
 * @param {readonly string[]} [more]
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgres(more = []) {
  const dir = makeTemporaryDir('postgres')
  const password = randomBytes(8).toString('hex')
  const { user } = unprivileged()
  // The folder above is root's alone: another user has to pass through it.
  chmodSync(dirname(dir), 0o711)
  if (user !== undefined) chownSync(dir, user.uid, user.gid)
  await fillData(dir, user)
  for (let attempt = 1; ; attempt++) {
    const server = new PostgresServer({ port: await freePort(), password }, dir, more)
    try {
      await server.ready()
      return server
    } catch (error) {
      await server.kill()
      if (attempt === 5 || !/Address already in use/.test(server.log())) throw error
    }
  }
}
