import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureInstalled, requireNode, root, run, runMain, SetupError } from './setup.mjs'
import { tryToEnsureSystemPackages } from './system-packages.mjs'

// npm run stryker [-- FOLDER [--force]]
// Has StrykerJS change every expression of a folder, one at a time, and looks whether the unit tests in that folder
// notice. Without a folder: the folders, and the scores of their last runs here. --force: forgets the last run.

/** The parts of the code to which this applies, by the first word of a folder's name. */
const AREAS = {
  core: 'src/core',
  engine: 'src/engine',
  'http-door': 'src/http-door',
  stores: 'src/stores',
  gateway: 'server/src/edge/gateway',
  'gateway-rules': 'server/src/edge/gateway-rules',
  quotas: 'server/src/quotas',
  client: 'client/src',
}

/** What `npm run stryker` lists: areas too large for one sitting by their folders. Each folder below one has a name, too. */
const LISTED = [
  ...['algorithms', 'http', 'identity', 'rules', 'schema', 'shedding'].map((name) => `core/${name}`),
  'engine',
  'http-door',
  ...['hits', 'leased', 'lending', 'memory', 'open', 'redis'].map((name) => `stores/${name}`),
  'gateway',
  'gateway-rules',
  'quotas',
  'client',
]

const LOWEST_PRIORITY = 19

/** Returns the folder that a name such as `core/algorithms` means, or throws which names there are. */
export function resolveFolder(name, dir = root) {
  const [area, ...below] = name.split('/').filter((part) => part !== '')
  const folder = Object.hasOwn(AREAS, area) ? [AREAS[area], ...below].join('/') : undefined
  const isFolder = folder !== undefined && !below.includes('..') && isDirectory(join(dir, folder))
  if (isFolder) return folder
  const areas = Object.keys(AREAS).join(', ')
  throw new SetupError(`there is no folder "${name}". Name one of ${areas}, or one below, such as core/algorithms`)
}

const isDirectory = (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Where StrykerJS keeps the results of a folder. */
export const resultsFile = (folder) => join('node_modules', '.cache', 'stryker', `${folder.replaceAll('/', '-')}.json`)

const DETECTED = ['Killed', 'Timeout']
const UNDETECTED = ['Survived', 'NoCoverage']

/** Counts the mutants of a report as StrykerJS does. Those that do not run, or are ignored, do not count. */
export function scoreOf({ files }) {
  const statuses = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status))
  const count = (wanted) => statuses.filter((status) => wanted.includes(status)).length
  const detected = count(DETECTED)
  const total = detected + count(UNDETECTED)
  return { detected, total, percent: total === 0 ? undefined : (100 * detected) / total }
}

/** Describes a score in one line. */
export function describeScore({ detected, total, percent }) {
  return percent === undefined ? 'no mutants' : `${percent.toFixed(1)} %: ${detected} of ${total} mutants detected`
}

function lastScore(folder) {
  const file = join(root, resultsFile(folder))
  if (!existsSync(file)) return 'not run here yet'
  const date = statSync(file).mtime.toISOString().slice(0, 10)
  return `${describeScore(scoreOf(JSON.parse(readFileSync(file, 'utf8'))))}, ${date}`
}

function list() {
  const width = Math.max(...LISTED.map((name) => name.length))
  for (const name of LISTED) console.log(`${name.padEnd(width)}  ${lastScore(resolveFolder(name))}`)
}

async function main(args) {
  const [name, ...more] = args.filter((arg) => arg !== '--force')
  if (more.length > 0) throw new SetupError(`one folder at a time; found ${[name, ...more].join(' ')}`)
  if (name === undefined) return list()

  requireNode()
  const folder = resolveFolder(name)
  await ensureInstalled()
  await tryToEnsureSystemPackages()
  if (args.includes('--force')) rmSync(join(root, resultsFile(folder)), { force: true })
  // It takes minutes to hours, and leaves the machine to others.
  setPriority(LOWEST_PRIORITY)
  const temporaryDir = mkdtempSync(join(tmpdir(), 'sluice-stryker-'))
  process.once('exit', () => rmSync(temporaryDir, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const env = { STRYKER_FOLDER: folder, STRYKER_TEMPORARY_DIR: temporaryDir }
  const { ok } = await run('stryker', ['run', 'stryker.config.mjs'], { env })
  if (!ok) throw new SetupError(`StrykerJS did not finish; its lines above say why`)
  console.log(`${name}: ${lastScore(folder)}`)
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(() => main(process.argv.slice(2)))
