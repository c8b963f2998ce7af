import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endWithNpm } from './end-with-npm.mjs'

/** The directory of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** A failure to show as one line, without a stack. */
export class SetupError extends Error {}

/** Prints one line about the set-up. It goes to stderr: stdout belongs to what is being set up. */
export function say(line) {
  process.stderr.write(`sluice: ${line}\n`)
}

/**
 * Runs a script's main function and ends the process with one clear line if the set-up fails. The script ends with the
 * npm that runs it.
 */
export async function runMain(main) {
  try {
    await endWithNpm()
    await main()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    say(error.message)
    process.exit(1)
  }
}

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** Throws unless `found` is at least the version that package.json asks for. */
export function requireNode(found = process.versions.node, range = readJson(join(root, 'package.json')).engines.node) {
  const needed = range.replace('>=', '')
  if (compareVersions(found, needed) >= 0) return
  throw new SetupError(`Node.js ${needed} or newer is needed; this is Node.js ${found}`)
}

function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number))
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] || 0) - (right[i] || 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** Runs a program in the repository and returns how it ended; with `capture`, also what it printed. */
export function run(command, args, { capture = false, shell = false, env = {} } = {}) {
  const PATH = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`
  const output = capture ? 'pipe' : 'inherit'
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, PATH, ...env },
    shell,
    stdio: ['ignore', output, output],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ ok: code === 0, code, signal, text }))
  })
}

/** Runs a script of package.json without the half second that npm takes to start. */
export function runScript(name) {
  return run(readJson(join(root, 'package.json')).scripts[name], [], { capture: true, shell: true })
}

// --- installing ---

const manifestDirs = ['', 'server', 'client', 'dashboard']
const installStamp = join('node_modules', '.cache', 'sluice-install.json')

/** Installs the dependencies unless the lockfile's are in place, and prints a line when it does. */
export async function ensureInstalled(dir = root) {
  const hash = installHash(dir)
  if (readStamp(dir, installStamp) === hash) return
  if (!manifestsAreLocked(dir)) {
    throw new SetupError('package-lock.json does not match package.json; run "npm install" to bring it up to date')
  }
  if (!lockfileIsInstalled(dir)) await install(dir)
  writeStamp(dir, installStamp, hash)
}

function installHash(dir) {
  const hash = createHash('sha256')
  for (const path of ['package-lock.json', ...manifestDirs.map((manifestDir) => join(manifestDir, 'package.json'))]) {
    hash.update(readFileSync(join(dir, path)))
  }
  return hash.digest('hex')
}

/** Returns whether the lockfile was made for the dependencies in the manifests. */
export function manifestsAreLocked(dir) {
  const { packages } = readJson(join(dir, 'package-lock.json'))
  return manifestDirs.every((manifestDir) =>
    sameDependencies(readJson(join(dir, manifestDir, 'package.json')), packages[manifestDir]),
  )
}

/**
 * Returns whether node_modules already has what the lockfile names, as after `npm install NAME`: installing all of it
 * again would be a waste.
 */
export function lockfileIsInstalled(dir) {
  const installedPath = join(dir, 'node_modules', '.package-lock.json')
  if (!existsSync(installedPath)) return false
  const installed = readJson(installedPath).packages
  return Object.entries(readJson(join(dir, 'package-lock.json')).packages).every(
    ([path, entry]) => !path.includes('node_modules/') || entry.optional || sameRelease(entry, installed[path]),
  )
}

const sameRelease = (wanted, installed) =>
  installed !== undefined && installed.version === wanted.version && installed.integrity === wanted.integrity

const sameDependencies = (manifest, locked) =>
  ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].every(
    (kind) => sortedEntries(manifest[kind]) === sortedEntries(locked?.[kind]),
  )

const sortedEntries = (dependencies = {}) => JSON.stringify(Object.entries(dependencies).sort())

// The retries are short because npm repeats them for each package: with its own, it takes ten minutes to notice that
// there is no network.
const installCommand = [
  ...['ci', '--include=dev', '--loglevel=error'],
  ...['--fetch-retries=2', '--fetch-retry-mintimeout=200', '--fetch-retry-maxtimeout=500'],
]

async function install(dir) {
  say('installing dependencies (once) …')
  const startedAt = Date.now()
  const elapsed = () => `${Math.round((Date.now() - startedAt) / 1000)} s`
  const ticker = process.stderr.isTTY ? undefined : setInterval(() => say(`still installing (${elapsed()})`), 10_000)
  const { ok, text } = await npm([...installCommand, '--prefix', dir])
  clearInterval(ticker)
  if (!ok)
    throw new SetupError(`installing the dependencies failed: ${npmReason(text)}; "npm install" shows the details`)
  say(`installed in ${elapsed()}`)
}

/** Runs npm, the same that runs this script if there is one. Its output is captured unless it goes to a terminal. */
export function npm(args, capture = !process.stderr.isTTY) {
  const npmCli = process.env.npm_execpath
  return npmCli?.endsWith('.js') ? run(process.execPath, [npmCli, ...args], { capture }) : run('npm', args, { capture })
}

/** Picks the line that says why out of npm's error output. */
export function npmReason(text) {
  const lines = [...text.matchAll(/^npm (?:error|ERR!) (.+)$/gm)].map(([, line]) => line)
  const code = lines.find((line) => line.startsWith('code '))?.slice('code '.length)
  const reason = lines.find((line) => !/^(code|errno|syscall|A complete log|network In most)\b/.test(line))
  return [code, reason].filter(Boolean).join(', ') || 'npm gave no reason'
}

// --- stamps ---

/** Returns the hash that a finished step left, or undefined. */
export function readStamp(dir, path) {
  try {
    return readJson(join(dir, path)).hash
  } catch {
    return undefined
  }
}

/** Leaves the hash of a finished step. */
export function writeStamp(dir, path, hash) {
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), `${JSON.stringify({ hash })}\n`)
}
