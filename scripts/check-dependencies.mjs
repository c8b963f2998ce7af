import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { satisfiesRange } from './node-range.mjs'
import { root } from './setup.mjs'

const oldestNode = '20.19.0'
const installScripts = ['preinstall', 'install', 'postinstall']

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** The folders with a lockfile: the project's, and folders whose packages are installed separately. */
const lockedDirs = ['', 'site']
/** What tests and benches install to compare with or to run in: nothing of ours needs it, and its scripts do not run. */
const toolDirs = ['tests/packages/compilers', 'tests/packages/runners', 'bench/package']

/** Returns one line for each rule that a package of a lockfile breaks. */
export function checkDependencies(dir) {
  const isLocked = (each) => existsSync(join(dir, each, 'package-lock.json'))
  return [
    ...lockedDirs.filter(isLocked).flatMap((each) => checkLockfile(dir, each, problemsOf)),
    ...toolDirs.filter(isLocked).flatMap((each) => checkLockfile(dir, each, addressOf)),
  ]
}

function checkLockfile(dir, locked, problemsIn) {
  const { packages } = readJson(join(dir, locked, 'package-lock.json'))
  return Object.entries(packages)
    .filter(([path, entry]) => path.includes('node_modules/') && !entry.link)
    .flatMap(([path, entry]) => {
      const named = join(locked, path)
      const problems = [...problemsIn(dir, named, entry), ...missingFrom(packages, path, entry)]
      return problems.map((problem) => `${named}@${entry.version}: ${problem}`)
    })
}

/** npm may leave packages for other platforms out when it writes a lockfile, and then refuses to install it. */
function missingFrom(packages, path, { dependencies = {}, optionalDependencies = {} }) {
  return Object.keys({ ...dependencies, ...optionalDependencies })
    .filter((name) => !isNamed(packages, path, name))
    .map((name) => `needs ${name}, which the lockfile does not have; npm ci would refuse it`)
}

/** Looks for a package as Node.js does: next to the package that needs it, and in every folder above. */
function isNamed(packages, path, name) {
  if (`${path}/node_modules/${name}` in packages || `node_modules/${name}` in packages) return true
  const above = path.lastIndexOf('/node_modules/')
  return above !== -1 && isNamed(packages, path.slice(0, above), name)
}

function problemsOf(dir, path, entry) {
  const problems = []
  if (runsOnLinux(entry) && hasInstallScript(dir, path, entry)) {
    problems.push('has an install script; dependencies must install without running code')
  }
  const range = entry.engines?.node
  if (range !== undefined && !satisfiesRange(oldestNode, range)) {
    problems.push(`needs Node.js ${range}; dependencies must run on ${oldestNode}`)
  }
  return [...problems, ...addressOf(dir, path, entry)]
}

function addressOf(_dir, _path, { resolved }) {
  if (resolved === undefined) return []
  return [`has the download address ${resolved}; the lockfile must leave the registry to the user`]
}

const runsOnLinux = ({ os }) => os === undefined || os.includes('linux') || os.every((name) => /^!(?!linux)/.test(name))

/** Asks the package too: not every registry reports it to npm, and then the lockfile does not have it. */
function hasInstallScript(dir, path, entry) {
  if (entry.hasInstallScript) return true
  const manifest = join(dir, path, 'package.json')
  if (!existsSync(manifest)) return false
  const { scripts = {} } = readJson(manifest)
  return installScripts.some((name) => name in scripts) || existsSync(join(dir, path, 'binding.gyp'))
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const problems = checkDependencies(root)
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
