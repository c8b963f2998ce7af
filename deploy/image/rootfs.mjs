import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packAll } from '../../scripts/pack.mjs'
import { ensureInstalled, requireNode, root, runMain, SetupError, say } from '../../scripts/setup.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** Builds the tree of the image into a new folder, and returns its size in bytes. */
async function buildTree(out) {
  if (existsSync(out)) throw new SetupError(`${out} exists; name a folder that does not`)
  const modules = join(out, 'app', 'node_modules')
  mkdirSync(modules, { recursive: true })
  await unpackOwn(modules)
  const installed = productionPackages()
  for (const name of installed) copyPackage(name, modules)
  writePrograms(join(out, 'bin'))
  writeLicenses(join(out, 'app'), ['sluice-server', ...installed])
  return settle(out)
}

/** Unpacks the service as it is published: the library is built into it. */
async function unpackOwn(modules) {
  const packed = mkdtempSync(join(tmpdir(), 'sluice-packed-'))
  try {
    const [, server] = await packAll(packed)
    const folder = join(modules, 'sluice-server')
    mkdirSync(folder)
    execFileSync('tar', ['-xzf', server, '-C', folder, '--strip-components=1'])
  } finally {
    rmSync(packed, { recursive: true })
  }
}

/**
 * Returns the names of all packages that the service needs, as the lockfile resolves them. It throws where one is
 * needed in two versions: the tree is flat.
 */
function productionPackages() {
  const { packages } = readJson(join(root, 'package-lock.json'))
  const found = new Set()
  const add = (path) => {
    for (const name of Object.keys(packages[path].dependencies ?? {})) {
      if (found.has(name)) continue
      const nested = `${path}/node_modules/${name}`
      if (packages[nested] !== undefined) throw new SetupError(`${name} is needed in two versions`)
      found.add(name)
      add(`node_modules/${name}`)
    }
  }
  add('server')
  // Optional in package installations; an image has no npm to add it with.
  found.add('@electric-sql/pglite')
  add('node_modules/@electric-sql/pglite')
  return [...found].sort()
}

function copyPackage(name, modules) {
  const from = join(root, 'node_modules', name)
  // Maps and tests are for developers of a package.
  const isNeeded = (path) => !/\.map$|\.test\.[^/]+$/.test(path) && !path.slice(from.length).includes('/node_modules')
  cpSync(from, join(modules, name), { recursive: true, dereference: true, filter: isNeeded })
}

/** Makes /bin/ratelimit, which gateways start by this name, and /bin/sluice, for everything else. */
function writePrograms(bin) {
  mkdirSync(bin)
  for (const name of ['ratelimit', 'sluice']) {
    copyFileSync(join(here, `${name}.cjs`), join(bin, name))
    chmodSync(join(bin, name), 0o755)
  }
}

/** Writes one file with the license of everything in the tree. */
function writeLicenses(app, names) {
  const texts = names.map((name) => {
    const folder = join(app, 'node_modules', name)
    const { version, license } = readJson(join(folder, 'package.json'))
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
    const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
    return `${name} ${version} (${license})\n${text}`
  })
  copyFileSync(join(root, 'LICENSE'), join(app, 'LICENSE'))
  writeFileSync(join(app, 'LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`))
}

/** Gives every file the mode that it has in the image, whatever the umask was, and returns the size of all. */
function settle(path) {
  const { mode, size } = statSync(path)
  if (!statSync(path).isDirectory()) {
    chmodSync(path, (mode & 0o111) === 0 ? 0o644 : 0o755)
    return size
  }
  chmodSync(path, 0o755)
  return readdirSync(path).reduce((sum, name) => sum + settle(join(path, name)), 0)
}

async function main() {
  requireNode()
  await ensureInstalled()
  const out = resolve(process.argv[2])
  const bytes = await buildTree(out)
  say(`${out}: ${(bytes / 1e6).toFixed(1)} MB`)
}

await runMain(main)
