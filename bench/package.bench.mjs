import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { packAll } from '../scripts/pack.mjs'
import { count, header, median, spread, table } from './report.mjs'

// npm run bench -- package [--rounds N]: what an app pays for having the library: time to import, installed and bundled
// size.

const { rounds } = parseArgs({ options: { rounds: { type: 'string', default: '31' } } }).values
const PEER = 'express-rate-limit'
const root = fileURLToPath(new URL('../', import.meta.url))
const execute = promisify(execFile)

const IMPORT_BUDGET = 2
const INSTALLED_BUDGET_BYTES = 3_000_000
const MINIFIED_BUDGET_BYTES = { sluice: 25_000, 'sluice/express': 60_000 }

const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const met = (isMet) => (isMet ? 'met' : 'missed')

// --- import ---

const IMPORT = `const startedAt = performance.now()
await import(process.argv[1])
console.log(performance.now() - startedAt)`

async function importMs(name) {
  const args = ['--input-type=module', '--eval', IMPORT, name]
  const { stdout } = await execute(process.execPath, args, { cwd: root })
  return Number(stdout)
}

/** Imports each in fresh processes, by turns, so that a noisy moment of the machine hits all alike. */
async function importTimes(names) {
  const times = names.map(() => [])
  for (let round = 0; round < Number(rounds); round++) {
    for (let i = 0; i < names.length; i++) {
      const turn = (i + round) % names.length
      times[turn].push(await importMs(names[turn]))
    }
  }
  return times
}

async function reportImports() {
  const names = [PEER, 'sluice', 'sluice/express', 'sluice/fetch']
  const times = await importTimes(names)
  const [peerMs] = times.map(median)
  const rows = names.map((name, i) => [
    name,
    median(times[i]).toFixed(1),
    `${spread(times[i]).toFixed(0)} %`,
    `${(median(times[i]) / peerMs).toFixed(2)} ×`,
  ])
  say('Import in a fresh process', '', table(['package', 'ms', '±', `against ${PEER}`], rows))
  for (const i of [1, 2]) {
    const ratio = median(times[i]) / peerMs
    console.log(`ratio ${names[i]}: ${ratio.toFixed(2)} × (budget ${IMPORT_BUDGET} ×: ${met(ratio <= IMPORT_BUDGET)})`)
  }
  console.log()
}

// --- installed size ---

const sizeOf = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)

const manifestOf = (dir) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))

/** Returns all that is installed with a package: its dependencies, and theirs. */
function installedWith(dir, found = new Map()) {
  for (const name of Object.keys(manifestOf(dir).dependencies ?? {})) {
    const path = join(root, 'node_modules', name)
    if (found.has(name)) continue
    found.set(name, path)
    installedWith(path, found)
  }
  return found
}

async function unpackedBytes(tarball) {
  const { stdout } = await execute('tar', ['-xzOf', tarball], { encoding: 'buffer', maxBuffer: 2 ** 28 })
  return stdout.length
}

async function reportInstalled() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const [tarball] = await packAll(folder)
  const sizes = new Map([['sluice', await unpackedBytes(tarball)]])
  rmSync(folder, { recursive: true })
  for (const [name, path] of installedWith(root)) sizes.set(name, sizeOf(path))
  const peerPath = join(root, 'node_modules', PEER)
  const peerBytes = [peerPath, ...installedWith(peerPath).values()].reduce((sum, path) => sum + sizeOf(path), 0)
  const bytes = [...sizes.values()].reduce((sum, each) => sum + each)
  const rows = [...sizes, ['all of it', bytes], [`${PEER}, all of it`, peerBytes]]
  say(
    'Installed, without Redis',
    '',
    table(
      ['package', 'bytes'],
      rows.map(([name, size]) => [name, count(size)]),
    ),
  )
  const isMet = bytes <= INSTALLED_BUDGET_BYTES
  console.log(`installed: ${(bytes / 1e6).toFixed(2)} MB (budget ${INSTALLED_BUDGET_BYTES / 1e6} MB: ${met(isMet)})\n`)
}

// --- minified size ---

/** Bundles an app that takes some names of an entry, and returns the bytes that load initially, and all. */
async function minified(entry, names) {
  const code = `export ${names} from '${entry}'`
  const app = {
    name: 'app',
    resolveId: (id) => (id === 'app' ? id : undefined),
    load: (id) => (id === 'app' ? code : undefined),
  }
  const external = (id) => id !== 'app' && !id.startsWith('sluice') && !/^[./]/.test(id)
  const bundle = await rolldown({ input: 'app', cwd: root, platform: 'node', external, plugins: [app] })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]))
  const atOnce = new Set([output[0].fileName])
  for (const name of atOnce) for (const each of chunks.get(name)?.imports ?? []) if (chunks.has(each)) atOnce.add(each)
  const bytes = (files) => [...files].reduce((sum, name) => sum + Buffer.byteLength(chunks.get(name).code), 0)
  return { atOnce: bytes(atOnce), all: bytes(chunks.keys()) }
}

async function reportMinified() {
  const cases = [
    ['sluice', '*'],
    ['sluice', '{ rateLimit }'],
    ['sluice/express', '*'],
    ['sluice/fetch', '*'],
  ]
  const rows = []
  for (const [entry, names] of cases) {
    const { atOnce, all } = await minified(entry, names)
    rows.push([`${names} from ${entry}`, count(atOnce), count(all)])
    const budget = names === '*' ? MINIFIED_BUDGET_BYTES[entry] : undefined
    if (budget !== undefined) {
      console.log(
        `minified ${entry}: ${(atOnce / 1e3).toFixed(0)} kB (budget ${budget / 1e3} kB: ${met(atOnce <= budget)})`,
      )
    }
  }
  say('', 'Minified, without dependencies', '', table(['bundle', 'loaded initially', 'with Redis'], rows))
}

say(header('npm run bench -- package', ['sluice', PEER]))
await reportImports()
await reportInstalled()
await reportMinified()
