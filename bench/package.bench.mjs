import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { packAll } from '../scripts/pack.mjs'
import { bundlers, ensureBundlers, peerPath } from './package/bundlers.mjs'
import { CASES, INSTALLED_BUDGET, PEERS } from './package/cases.mjs'
import { count, header, median, spread, table } from './report.mjs'

// npm run bench -- package [--rounds N]: what an app pays for having the library, as it is published: the packed tarball is
// installed in an empty folder, bundled into one file by three bundlers, and imported in fresh processes; next to four peers.

const { rounds } = parseArgs({ options: { rounds: { type: 'string', default: '15' } } }).values
const execute = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))

const IMPORT_BUDGET = 1.3

const IMPORTED = ['express-rate-limit', 'sluice', 'sluice/express', 'sluice/fetch']

const say = (...lines) => console.log(`${lines.join('\n')}\n`)
const verdict = (isMet) => (isMet ? 'met' : 'missed')

/** install makes an app with the packed library and client, and with peers that are installed apart. */
async function install() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const [library, , client] = await packAll(folder)
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@upstash'), { recursive: true })
  for (const [name, tarball] of Object.entries({ sluice: library, 'sluice-client': client })) {
    mkdirSync(join(modules, name))
    await execute('tar', ['-xzf', tarball, '-C', join(modules, name), '--strip-components=1'])
  }
  for (const name of ['express-rate-limit', 'rate-limiter-flexible', 'hono', 'yaml']) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  for (const name of ['@upstash/ratelimit', 'hono-rate-limiter']) symlinkSync(peerPath(name), join(modules, name))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  return folder
}

// --- import ---

const IMPORT = `const startedAt = performance.now()
await import(process.argv[1])
console.log(performance.now() - startedAt)`

/** importTimes imports each in fresh processes, by turns, so that a noisy moment of the machine hits all alike. */
async function importTimes(folder) {
  const times = IMPORTED.map(() => [])
  for (let round = 0; round < Number(rounds); round++) {
    for (let i = 0; i < IMPORTED.length; i++) {
      const turn = (i + round) % IMPORTED.length
      const args = ['--input-type=module', '--eval', IMPORT, IMPORTED[turn]]
      times[turn].push(Number((await execute(process.execPath, args, { cwd: folder })).stdout))
    }
  }
  return times
}

async function reportImports(folder) {
  const times = await importTimes(folder)
  const [peerMs] = times.map(median)
  const rows = IMPORTED.map((name, i) => [
    name,
    median(times[i]).toFixed(1),
    `${spread(times[i]).toFixed(0)} %`,
    `${(median(times[i]) / peerMs).toFixed(2)} ×`,
  ])
  say('Import in a fresh process', '', table(['package', 'ms', '±', `against ${IMPORTED[0]}`], rows))
  for (const i of [1, 2]) {
    const ratio = median(times[i]) / peerMs
    const budget = `budget ${IMPORT_BUDGET} ×: ${verdict(ratio <= IMPORT_BUDGET)}`
    console.log(`ratio import ${IMPORTED[i]}: ${ratio.toFixed(2)} × (${budget})`)
  }
  console.log()
}

// --- installed size ---

function reportInstalled(folder) {
  const dir = join(folder, 'node_modules', 'sluice')
  const bytes = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
  const budget = `budget ${INSTALLED_BUDGET / 1e6} MB: ${verdict(bytes <= INSTALLED_BUDGET)}`
  say(`unpacked: ${(bytes / 1e6).toFixed(2)} MB (${budget})`)
}

// --- bundled size ---

async function reportBundles(folder) {
  const rows = []
  const lines = []
  for (const { name, code, budget } of [...CASES, ...PEERS]) {
    writeFileSync(join(folder, 'app.js'), code)
    const sizes = []
    for (const { bundle } of bundlers) sizes.push(await bundle(folder, 'app.js'))
    rows.push([name, ...sizes.map(({ minified, gzip }) => `${count(minified)} / ${count(gzip)}`)])
    if (budget === undefined) continue
    const largest = Math.max(...sizes.map(({ gzip }) => gzip))
    const isMet = verdict(largest <= budget)
    lines.push(`gzip ${name}: ${(largest / 1e3).toFixed(1)} kB (budget ${budget / 1e3} kB: ${isMet})`)
  }
  const names = bundlers.map(({ name, version }) => `${name} ${version}`)
  say('One file, minified / gzip -9, bytes', '', table(['bundle', ...names], rows), '', ...lines)
}

await ensureBundlers()
say(header('npm run bench -- package', ['sluice', 'express-rate-limit', 'rate-limiter-flexible']))
const folder = await install()
try {
  await reportImports(folder)
  reportInstalled(folder)
  await reportBundles(folder)
} finally {
  rmSync(folder, { recursive: true })
}
