import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npm } from '../../scripts/setup.mjs'
import { until } from '../servers/until.mjs'

/** As long as a hook may take. */
const WITHIN_MS = 290_000

/**
 * Installs what the lockfile of a folder names, once. Only the first time needs the registry. Test files run in several
 * processes: one of them installs, and the others wait for it.
 */
export async function installOnce(folder: string): Promise<void> {
  const isInstalled = (): boolean => existsSync(join(folder, 'node_modules', '.package-lock.json'))
  const lock = join(tmpdir(), `sluice-install-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`)
  let isOurs = false
  const mayGoOn = (): boolean => {
    if (!existsSync(lock) && isInstalled()) return true
    isOurs = takeLock(lock)
    return isOurs
  }
  await until(`another process has installed ${folder}`, mayGoOn, WITHIN_MS)
  if (!isOurs) return
  try {
    if (!isInstalled()) await install(folder)
  } finally {
    rmSync(lock, { force: true })
  }
}

/** Returns whether this process has the lock now. A process that ended without removing it has lost it. */
function takeLock(path: string): boolean {
  try {
    writeFileSync(path, `${process.pid}`, { flag: 'wx' })
    return true
  } catch {
    if (!isAlive(path)) rmSync(path, { force: true })
    return false
  }
}

function isAlive(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, 'utf8'))
    // It is empty for a moment after it was made.
    return pid === 0 || process.kill(pid, 0)
  } catch {
    return false
  }
}

async function install(folder: string): Promise<void> {
  const { ok, text } = await npm(['ci', '--prefix', folder, '--workspaces=false', '--prefer-offline'], true)
  if (!ok) throw new Error(`npm ci failed in ${folder}:\n${text}`)
}
