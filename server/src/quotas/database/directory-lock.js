// @ts-check
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * A lock on a directory is a file that says who holds it. Whether the holder still lives is certain where it is a
 * process that this one can see. Of another container or machine only its sign of life can be seen: the file's time,
 * which the holder renews.
 */

const RENEW_EVERY_MS = 2000
const SILENT_FOR_MS = 10_000

/**
 * @typedef {object} DirectoryLock
 * @property {() => boolean} renew gives a sign of life; false: another process holds the lock by now
 * @property {() => void} release
 */

/**
 * Takes the lock, also from a holder that is dead. It resolves with undefined when another process holds it.
 * @param {string} path
 * @param {{ silentForMs?: number }} [options]
 * @returns {Promise<DirectoryLock | undefined>}
 */
export async function takeLock(path, { silentForMs = SILENT_FOR_MS } = {}) {
  const mine = JSON.stringify({ pid: process.pid, ...placeOf(process.pid), nonce: randomUUID() })
  for (let attempt = 0; attempt < 5; attempt++) {
    if (create(path, mine)) return held(path, mine)
    const theirs = read(path)
    if (theirs === undefined) continue
    if (await isAlive(path, theirs, silentForMs)) return undefined
    remove(path, theirs)
  }
  return undefined
}

/** How often a holder renews its lock. */
export const renewEveryMs = RENEW_EVERY_MS

/**
 * @param {string} path
 * @param {string} mine
 */
function held(path, mine) {
  return {
    renew() {
      if (read(path) !== mine) return false
      utimesSync(path, new Date(), new Date())
      return true
    },
    release() {
      if (read(path) === mine) rmSync(path, { force: true })
    },
  }
}

/**
 * Makes the file with its whole content in one step, or not at all.
 * @param {string} path
 * @param {string} content
 */
function create(path, content) {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, content, { mode: 0o600 })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    return createWithoutLinks(path, content)
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Some file systems have no links.
 * @param {string} path
 * @param {string} content
 */
function createWithoutLinks(path, content) {
  try {
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes the file of a dead holder. If another process was faster, and holds the lock by now, its file is put back.
 * @param {string} path
 * @param {string} dead
 */
function remove(path, dead) {
  const aside = `${path}.dead.${process.pid}`
  try {
    renameSync(path, aside)
    const found = read(aside)
    if (found !== undefined && found !== dead) create(path, found)
    rmSync(aside, { force: true })
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/**
 * @param {string} path
 * @param {string} content
 * @param {number} silentForMs
 */
async function isAlive(path, content, silentForMs) {
  const holder = parse(content)
  const here = placeOf(process.pid)
  if (holder !== undefined && holder.host === here.host && holder.boot === here.boot && holder.space === here.space) {
    return runs(holder.pid) && placeOf(holder.pid).started === holder.started
  }
  const seen = timeOf(path)
  const deadline = performance.now() + silentForMs
  while (performance.now() < deadline) {
    await pause(Math.min(100, silentForMs))
    if (timeOf(path) !== seen) return true
  }
  return false
}

/**
 * Distinguishes one process from another that has the same number: on another boot, in another container, or later.
 * @param {number} pid
 */
function placeOf(pid) {
  return {
    host: hostname(),
    boot: read('/proc/sys/kernel/random/boot_id')?.trim() ?? '',
    space: link('/proc/self/ns/pid') ?? '',
    // The 22nd field; the second is a name, in parentheses, which may contain anything.
    started: read(`/proc/${pid}/stat`)?.replace(/^.*\)/s, '').split(' ')[20] ?? '',
  }
}

/** @param {number} pid */
function runs(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/**
 * @param {string} text
 * @returns {{ pid: number, host: string, boot: string, space: string, started: string } | undefined}
 */
function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** @param {string} path */
function link(path) {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** @param {string} path */
function timeOf(path) {
  try {
    return statSync(path).mtimeMs
  } catch {
    return undefined
  }
}

/** @param {unknown} error */
const codeOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code
