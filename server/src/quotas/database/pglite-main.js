// @ts-check
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { renewEveryMs, takeLock } from './directory-lock.js'

/**
 * The process that PGlite runs in: it computes on the thread that runs JavaScript, so nothing else may. It does what
 * its parent asks, one statement after another, and ends when the parent does, however that ends. It is JavaScript so
 * that it starts from the sources as from the build.
 *
 * From the parent: `{ id, sql, values }`; `{ id, channel }` to listen. To it: `ready`, `made` (start another: the first
 * one has grown by 400 MB), `refused` with a code; for each id rows or an error; and notices.
 */

const [dataDir] = process.argv.slice(2)
const directory = join(dataDir, 'postgres')
const draft = join(dataDir, 'postgres.new')

/** What PGlite 0.5 is. A directory of another major version would only say that it "failed to initialize". */
const MAJOR = '18'

const INT8 = 20

/** @param {object} message */
function send(message) {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

/**
 * Exits with a reason that another start does not change.
 * @param {string} code
 * @param {string} detail
 */
function refuse(code, detail) {
  process.send?.({ type: 'refused', code, detail }, undefined, undefined, () => process.exit(1))
}

function majorOf() {
  try {
    return readFileSync(join(directory, 'PG_VERSION'), 'utf8').trim()
  } catch {
    return undefined
  }
}

const isThere = () => {
  try {
    return readdirSync(directory).length > 0
  } catch {
    return false
  }
}

async function start() {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const lock = await takeLock(join(dataDir, 'postgres.lock'))
  if (lock === undefined) return refuse('DATABASE_LOCKED', 'another process has it open')
  // A process that took the lock, because this one seemed dead, may be writing already.
  setInterval(() => lock.renew() || process.exit(1), renewEveryMs).unref()
  process.on('exit', () => lock.release())

  const major = majorOf()
  if (isThere() && major !== MAJOR) {
    return refuse(
      'DATABASE_VERSION_UNSUPPORTED',
      `got ${major === undefined ? 'no PG_VERSION' : `version ${major}`}, not ${MAJOR}`,
    )
  }
  if (major === undefined) return make()
  await serve(await PGlite.create({ dataDir: directory, parsers: { [INT8]: Number } }))
}

/** Makes a new database in a separate directory, so that one which is half made is never taken for one. */
async function make() {
  rmSync(draft, { recursive: true, force: true })
  const db = await PGlite.create({ dataDir: draft })
  await db.close()
  renameSync(draft, directory)
  process.send?.({ type: 'made' }, undefined, undefined, () => process.exit(0))
}

/** @param {PGlite} db */
async function serve(db) {
  /** @type {Set<string>} */
  const channels = new Set()
  const end = async () => {
    await db.close().catch(() => {})
    process.exit(0)
  }
  process.on('disconnect', end)
  if (!process.connected) return end()
  /** @param {{ id: number, sql?: string, values?: unknown[], channel?: string }} request */
  const answer = async ({ id, sql = '', values, channel }) => {
    if (channel !== undefined) {
      if (!channels.has(channel)) await db.listen(channel, (payload) => send({ type: 'notice', channel, payload }))
      channels.add(channel)
      return send({ id, rows: [] })
    }
    // Without values, a text may hold several statements.
    const results = values === undefined ? await db.exec(sql) : [await db.query(sql, values)]
    const last = results.at(-1)
    send({ id, rows: last?.rows ?? [], command: last?.command })
  }
  process.on('message', (/** @type {{ id: number }} */ request) => {
    answer(request).catch((error) => {
      const { message, code, constraint } = error
      send({ id: request.id, error: { message, code, constraint } })
    })
  })
  send({ type: 'ready' })
}

// Control-C in a terminal reaches this process too; it ends when its parent has done with it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

start().catch((error) => {
  process.send?.({ type: 'failed', detail: error.message }, undefined, undefined, () => process.exit(1))
})
