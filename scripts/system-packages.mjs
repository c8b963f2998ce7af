import { accessSync, constants, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { run, runMain, SetupError, say } from './setup.mjs'

/** Maps each command that tests and benchmarks run to the Debian package that brings it. */
export const systemPackages = {
  'redis-server': 'redis-server',
  'redis-cli': 'redis-server',
  openssl: 'openssl',
  curl: 'curl',
  h2load: 'nghttp2-client',
  prometheus: 'prometheus',
  promtool: 'prometheus',
  initdb: 'postgresql',
  postgres: 'postgresql',
  chromium: 'chromium',
  nginx: 'nginx-light',
  memcached: 'memcached',
  pgbouncer: 'pgbouncer',
}

// Some commands (nginx is one) are in a directory that only root has on its PATH.
const systemDirs = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/**
 * Where commands are looked for. Debian has each version of PostgreSQL in a separate directory, which is not on the
 * PATH.
 */
export function defaultPath(path = process.env.PATH, postgresDir = '/usr/lib/postgresql') {
  return [path, ...systemDirs, ...postgresBins(postgresDir)].join(delimiter)
}

/** Lists the newest first. */
function postgresBins(dir) {
  try {
    const versions = readdirSync(dir).sort((a, b) => Number(b) - Number(a))
    return versions.map((version) => join(dir, version, 'bin'))
  } catch {
    return []
  }
}

/** Returns the path of a command, or undefined. */
export function findCommand(name, path = defaultPath()) {
  return path
    .split(delimiter)
    .map((dir) => join(dir, name))
    .find(isExecutable)
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** Returns the path of a command of the table, or throws the line that says how to get it. */
export function requireCommand(name, path = defaultPath()) {
  const found = findCommand(name, path)
  if (found !== undefined) return found
  throw new SetupError(`${name} is missing; ${howToInstall([systemPackages[name]])}`)
}

const howToInstall = (packages) => `"apt-get install ${packages.join(' ')}" as root brings it on Debian and Ubuntu`

const machine = {
  // Read each time: what was just installed may have brought a directory.
  get path() {
    return defaultPath()
  },
  isRoot: process.getuid?.() === 0,
  policyFile: '/usr/sbin/policy-rc.d',
}

/**
 * Installs the packages of commands that are missing, and says so when it does. Throws one line when it cannot.
 * Services that a package brings are not started: the tests start their own servers.
 */
export async function ensureSystemPackages(settings = machine) {
  const { table = systemPackages, isRoot, policyFile } = settings
  const missing = () => Object.keys(table).filter((command) => findCommand(command, settings.path) === undefined)
  const packages = [...new Set(missing().map((command) => table[command]))]
  if (packages.length === 0) return
  const fail = (reason) => {
    throw new SetupError(`${missing().join(' and ')} cannot be installed: ${reason}; ${howToInstall(packages)}`)
  }

  const apt = findCommand('apt-get', settings.path)
  if (apt === undefined) fail('this machine has no apt-get')
  if (!isRoot) fail('this user is not root')
  say(`installing ${packages.join(', ')} (once) …`)
  const { ok, text } = await withoutServices(policyFile, () => install(apt, packages))
  if (!ok) fail(aptReason(text))
  if (missing().length > 0) fail(`${packages.join(', ')} did not bring it`)
}

/** Continues when it cannot: a test that needs a missing command reports that itself. */
export async function tryToEnsureSystemPackages(settings = machine) {
  try {
    await ensureSystemPackages(settings)
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    say(error.message)
  }
}

// Short waits: without a network, apt's own take minutes. The lock is another matter: its holder may be installing.
const aptOptions = ['Acquire::Retries=1', 'Acquire::http::Timeout=20', 'DPkg::Lock::Timeout=120', 'Dpkg::Use-Pty=0']

async function install(apt, packages) {
  const aptGet = (...args) =>
    run(apt, ['--quiet', '--yes', ...aptOptions.flatMap((option) => ['-o', option]), ...args], {
      capture: true,
      env: { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    })
  // An update that fails is no reason to stop: the lists of an earlier one may do.
  const updated = await aptGet('update')
  const installed = await aptGet('install', '--no-install-recommends', ...packages)
  return { ok: installed.ok, text: updated.text + installed.text }
}

/** Picks the line that says why out of apt's output: no network explains more than an unknown package. */
export function aptReason(text) {
  const [, reason] = /^W: (Failed to fetch .+)$/m.exec(text) ?? /^E: (.+)$/m.exec(text) ?? []
  return reason?.trim().replace(/\s+/g, ' ') ?? 'apt-get gave no reason'
}

const marker = '# Written by the set-up of Sluice while it installs packages.'

/**
 * Does some work while Debian's policy forbids to start services. A policy of the machine's own stays as it is. Ours
 * forbids only while this process lives, so that it does no harm if it cannot be removed.
 */
async function withoutServices(policyFile, work) {
  const found = readText(policyFile)
  if (found !== undefined && !found.includes(marker)) return work()
  const remove = () => rmSync(policyFile, { force: true })
  writeFileSync(policyFile, `#!/bin/sh\n${marker}\nkill -0 ${process.pid} 2>/dev/null && exit 101\nexit 0\n`, {
    mode: 0o755,
  })
  process.once('exit', remove)
  try {
    return await work()
  } finally {
    process.off('exit', remove)
    remove()
  }
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

const [, script] = process.argv
if (script !== undefined && import.meta.url === pathToFileURL(script).href) await runMain(() => ensureSystemPackages())
