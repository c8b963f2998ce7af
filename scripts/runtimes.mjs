import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startRedis } from '../tests/servers/redis.mjs'
import { packAll } from './pack.mjs'
import { ensureInstalled, npm, requireNode, root, run, runMain, SetupError, say } from './setup.mjs'

// npm run test:runtimes [-- [--claims] NAME…]
// Runs the tests of the library and its middleware on other versions of Node.js, and claims about the packed library on
// those, Bun and Deno; with --claims, the latter alone. The runtimes are packages of npm, installed once into a cache.
const cacheDir = join(root, 'node_modules', '.cache', 'sluice-runtimes')
const suites = ['src/core', 'src/library', 'src/http-door', 'src/middleware', 'src/compat', 'src/stores/memory']

const { platform, arch } = process
const nodePackage = `node-${platform === 'win32' ? 'win' : platform}-${arch}`
const bunPackage = `@oven/bun-${platform === 'win32' ? 'windows' : platform}-${arch === 'arm64' ? 'aarch64' : arch}`
const denoPackage = `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`
const extension = platform === 'win32' ? '.exe' : ''

const claimsOnly = process.argv.includes('--claims')

const node = (major) => ({
  name: `Node.js ${major}`,
  source: `${nodePackage}@${major}`,
  program: join(nodePackage, 'bin', `node${extension}`),
  args: [],
  runsSuites: true,
})

const runtimes = [
  { name: 'this Node.js', program: process.execPath, args: [] },
  node(22),
  node(24),
  node(26),
  { name: 'Bun', source: bunPackage, program: join(bunPackage, 'bin', `bun${extension}`), args: ['run'] },
  {
    name: 'Deno',
    source: denoPackage,
    program: join(denoPackage, `deno${extension}`),
    args: ['run', '--allow-all', '--node-modules-dir=manual'],
  },
]

/** What the claims use in addition to the library. */
const linked = ['express', 'koa', 'fastify', 'hono', 'prom-client', 'reflect-metadata', 'rxjs', 'yaml', 'jose']
const linkedOfNest = ['common', 'core', 'platform-express', 'throttler'].map((name) => `@nestjs/${name}`)

async function installRuntime({ name, source, program }) {
  if (source === undefined) return program
  const dir = join(cacheDir, name.replaceAll(/\W+/g, '-').toLowerCase())
  const path = join(dir, 'node_modules', program)
  if (!existsSync(path)) {
    say(`installing ${source} (once) …`)
    mkdirSync(dir, { recursive: true })
    const { ok, text } = await npm(['install', '--prefix', dir, '--no-save', '--ignore-scripts', source], true)
    if (!ok || !existsSync(path)) throw new SetupError(`installing ${source} failed:\n${text.trimEnd()}`)
  }
  return path
}

/** Makes an app that has installed the packed library and client, with the claims in it. */
async function makeProject() {
  const dir = join(cacheDir, 'project')
  rmSync(dir, { recursive: true, force: true })
  const [library, , client] = await packAll(join(cacheDir, 'packed'))
  for (const [name, tarball] of Object.entries({ sluice: library, 'sluice-client': client })) {
    mkdirSync(join(dir, 'node_modules', name), { recursive: true })
    const unpack = ['-xzf', tarball, '-C', join(dir, 'node_modules', name), '--strip-components=1']
    if (!(await run('tar', unpack)).ok) throw new SetupError(`${tarball} could not be unpacked`)
  }
  for (const name of [...linked, ...linkedOfNest, '@opentelemetry/api']) {
    mkdirSync(dirname(join(dir, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(dir, 'node_modules', name), 'junction')
  }
  cpSync(join(root, 'tests', 'runtimes', 'claims.mjs'), join(dir, 'claims.mjs'))
  return dir
}

const tally = /(\d+) passed, (\d+) failed/

/** Runs a program, and returns the line that counts. Where something failed, it shows everything. */
async function tried(program, args, env) {
  const { ok, text } = await run(program, args, { capture: true, env })
  const [line, , failed] = text.match(new RegExp(tally, 'g'))?.at(-1)?.match(tally) ?? ['did not end well', '', '1']
  if (!ok || failed !== '0') process.stdout.write(`${text.trimEnd()}\n`)
  return { line: ok ? line : `${line} (FAILED)`, ok: ok && failed === '0' }
}

async function tryRuntime(runtime, project, redisUrl) {
  const program = await installRuntime(runtime)
  const version = (await run(program, ['--version'], { capture: true })).text.trim().split('\n')[0]
  say(`${runtime.name}: ${version}`)
  const claims = await tried(program, [...runtime.args, join(project, 'claims.mjs')], { REDIS_URL: redisUrl })
  const vitest = [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...suites]
  const tests = runtime.runsSuites && !claimsOnly ? await tried(program, vitest, {}) : { line: '-', ok: true }
  return { row: [runtime.name, version, claims.line, tests.line], ok: claims.ok && tests.ok }
}

await runMain(async () => {
  requireNode()
  await ensureInstalled()
  const names = process.argv.slice(2).flatMap((name) => (name === '--claims' ? [] : name.toLowerCase()))
  const chosen = runtimes.filter(
    ({ name }) => names.length === 0 || names.some((each) => name.toLowerCase().includes(each)),
  )
  const project = await makeProject()
  const redis = await startRedis()
  const { table } = await import('../bench/report.mjs')
  const results = []
  for (const runtime of chosen) results.push(await tryRuntime(runtime, project, redis.url))
  await redis.stop()
  console.log(
    table(
      ['runtime', 'version', 'claims', 'tests'],
      results.map(({ row }) => row),
    ),
  )
  process.exitCode = results.every(({ ok }) => ok) ? 0 : 1
})
