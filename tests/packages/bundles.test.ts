import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../servers/shared.ts'
import { esbuildPath, hasEsbuild, installCompilers } from './compilers.suite.ts'
import { type Packed, Project, pack } from './project.suite.ts'

type Format = 'esm' | 'cjs'
/** A bundler makes out/ of a file in a project. */
type Bundle = (folder: string, format: Format) => Promise<void>

const withRolldown: Bundle = async (folder, format) => {
  const bundle = await rolldown({ cwd: folder, input: { app: 'app.mjs' }, platform: 'node', logLevel: 'silent' })
  const extension = format === 'esm' ? 'mjs' : 'cjs'
  const names = { entryFileNames: `[name].${extension}`, chunkFileNames: `[name].${extension}` }
  await bundle.write({ dir: join(folder, 'out'), format, minify: true, ...names })
}

/** CommonJS inside of an ES module needs a require, which esbuild leaves to the app. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

const withEsbuild: Bundle = async (folder, format) => {
  const out = `--outfile=out/app.${format === 'esm' ? 'mjs' : 'cjs'}`
  const args = ['app.mjs', '--bundle', '--minify', '--platform=node', `--format=${format}`, out, '--log-level=error']
  if (format === 'esm') args.push(`--banner:js=${REQUIRE}`)
  await promisify(execFile)(esbuildPath(), args, { cwd: folder })
}

let packed: Packed
let development: Project
let production: Project
beforeAll(async () => {
  await installCompilers()
  packed = await pack()
}, 600_000)

/** What is bundled: it decides in memory, by rules, by rules in YAML, by tokens, by the fleet's load and in Redis. */
const app = (url: string) => `import { createHmac, randomUUID } from 'node:crypto'
  import { setTimeout as sleep } from 'node:timers/promises'
  import { createLimiter } from 'sluice'
  import { rateLimit as forExpress } from 'sluice/express'
  import { rateLimit } from 'sluice/fetch'
  import { jwt } from 'sluice/jwt'
  import { redis } from 'sluice/redis'
  import { rules as byRules } from 'sluice/rules'
  import { shed } from 'sluice/shed'
  const statusOf = async (limiter, headers = {}) =>
    (await limiter.check(new Request('http://localhost/', { headers }))).response?.status ?? 200
  async function main() {
    console.log(typeof forExpress({ limit: 1, window: '1m' }))
    const rules = { domain: 'api', descriptors: [{ key: 'ip', rate_limit: { unit: 'hour', requests_per_unit: 1 } }] }
    createLimiter({ rules })
    console.log(await statusOf(rateLimit({ rules: byRules(rules) })))
    try {
      rateLimit({ rules: byRules('domain: api\\ndescriptors: []\\n') })
      console.log('yaml')
    } catch (error) {
      console.log(error.code)
    }
    const secret = 'a secret of at least thirty-two bytes'
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const text = part({ alg: 'HS256' }) + '.' + part({ sub: 'u1' })
    const token = text + '.' + createHmac('sha256', secret).update(text).digest('base64url')
    const byUser = rateLimit({ limit: 1, window: '1m', by: 'user', identity: { jwt: jwt({ secret }) } })
    const headers = { authorization: 'Bearer ' + token }
    console.log(await statusOf(byUser, headers), await statusOf(byUser, headers))
    const shedding = rateLimit({ limit: 9, window: '1m', by: 'everyone', shed: shed({ capacity: 1, reserved: 0 }) })
    console.log(await statusOf(shedding), await statusOf(shedding))
    try {
      rateLimit({ limit: 9, window: '1m', shed: shed({ capacity: 0 }) })
    } catch (error) {
      console.log(error.code)
    }
    const caller = randomUUID()
    const shared = { redis: redis('${url}'), onStoreFailure: 'closed', timeoutMs: 60_000, by: () => caller }
    const inRedis = rateLimit({ limit: 1, window: '1m', ...shared })
    while ((await statusOf(inRedis)) !== 200) await sleep(10)
    console.log(await statusOf(inRedis))
    await inRedis.close()
  }
  main()`

describe.each([
  ['rolldown', withRolldown, true],
  ['esbuild', withEsbuild, hasEsbuild],
] as const)('a bundle of %s', (_, bundle, isThere) => {
  // Skipped where the bundler has no program for the machine.
  it.runIf(isThere).each(['esm', 'cjs'] as const)('as %s does all that the packages do', async (format) => {
    const { url } = await sharedRedis()
    development = new Project().install(packed.library)
    production = new Project()
    try {
      development.write({ 'app.mjs': app(url) })
      await bundle(development.folder, format)
      cpSync(join(development.folder, 'out'), production.folder, { recursive: true })
      const file = format === 'esm' ? 'app.mjs' : 'app.cjs'
      expect(await production.printed(file)).toBe(
        'function\n200\nYAML_PACKAGE_MISSING\n200 429\n200 503\nGATE_OPTIONS_INVALID\n429',
      )
      production.link('yaml')
      expect(await production.printed(file)).toBe('function\n200\nyaml\n200 429\n200 503\nGATE_OPTIONS_INVALID\n429')
    } finally {
      development.remove()
      production.remove()
    }
  })
})
