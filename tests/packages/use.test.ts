import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../servers/shared.ts'
import { ENTRIES } from './entries.suite.ts'
import { manifestOf, type Packed, Project, pack } from './project.suite.ts'

let packed: Packed
let project: Project
beforeAll(async () => {
  packed = await pack()
}, 300_000)
afterEach(() => project?.remove())

const OPTIONAL = ['yaml', 'jose']

describe('an app that has installed sluice, and nothing that is optional', () => {
  it.each(ENTRIES)('imports and requires %s', async (entry, needs, names) => {
    project = new Project().install(packed.library, { without: OPTIONAL }).link(...needs)
    const print = `console.log([${names.join(', ')}].every((each) => typeof each === 'function'))`
    project.write({
      'app.mjs': `import { ${names.join(', ')} } from '${entry}'\n${print}`,
      'app.cjs': `const { ${names.join(', ')} } = require('${entry}')\n${print}`,
    })
    expect(await project.printed('app.mjs')).toBe('true')
    expect(await project.printed('app.cjs')).toBe('true')
  })

  it('limits', async () => {
    project = new Project().install(packed.library, { without: OPTIONAL })
    project.write({
      'app.mjs': `import { createLimiter, rateLimit } from 'sluice'
        import { protect } from 'sluice/fetch'
        const limiter = rateLimit({ limit: 1, window: '1m' })
        console.log(limiter.check('a').allowed, limiter.check('a').kind)
        const rules = { domain: 'api', descriptors: [{ key: 'ip', rate_limit: { unit: 'hour', requests_per_unit: 1 } }] }
        const request = { domain: 'api', descriptors: [{ entries: [{ key: 'ip', value: '::1' }] }] }
        const byRules = createLimiter({ rules })
        console.log(byRules.check(request).allowed, byRules.check(request).allowed)
        const handle = protect(async () => new Response('hello'), { limit: 1, window: '1m', by: () => 'a' })
        for (let i = 0; i < 2; i++) console.log((await handle(new Request('http://localhost/'))).status)`,
    })
    expect(await project.printed('app.mjs')).toBe('true refused\ntrue false\n200\n429')
  })

  it('gets an error that names what is missing for YAML', async () => {
    project = new Project().install(packed.library, { without: OPTIONAL })
    project.write({
      'app.mjs': `import { rateLimit } from 'sluice/fetch'
        try { rateLimit({ rules: 'domain: api\\n' }) } catch (error) { console.log(error.message) }`,
    })
    expect(await project.printed('app.mjs')).toBe(
      "YAML_PACKAGE_MISSING: yaml: Cannot find module 'yaml'. The yaml package could not be loaded. It is installed with sluice but not included in bundles: install it where the bundle runs (npm install yaml).",
    )
  })
})

describe('an app that has installed sluice-client', () => {
  it.each([
    ['sluice-client', ['createFetch', 'parseRateLimits', 'RateLimitError', 'shareTabs', 'acceptsRatio']],
    ['sluice-client/check', ['createCheckClient', 'orThrow', 'CheckRequestError', 'RateLimitError']],
    ['sluice-client/ledger', ['createLedgerClient', 'LedgerError']],
  ])('imports and requires %s, with nothing else', async (entry, names) => {
    project = new Project().install(packed.client)
    const print = `console.log([${names.join(', ')}].every((each) => typeof each === 'function'))`
    project.write({
      'app.mjs': `import { ${names.join(', ')} } from '${entry}'\n${print}`,
      'app.cjs': `const { ${names.join(', ')} } = require('${entry}')\n${print}`,
    })
    expect(await project.printed('app.mjs')).toBe('true')
    expect(await project.printed('app.cjs')).toBe('true')
  })
})

describe('an app that counts in Redis', () => {
  /** An app that asks twice about a caller of its own; `redis` is an expression. */
  const app = (redis: string) => `import { rateLimit } from 'sluice/fetch'
    import { setTimeout as sleep } from 'node:timers/promises'
    ${redis.startsWith('new Redis') ? "import { Redis } from 'ioredis'" : ''}
    const redis = ${redis}
    const limiter = rateLimit({ limit: 1, window: '1m', by: () => '${randomUUID()}', onStoreFailure: 'closed', timeoutMs: 60_000, redis })
    const ask = async () => (await limiter.check(new Request('http://localhost/'))).response?.status ?? 200
    while ((await ask()) !== 200) await sleep(10)
    console.log(await ask())
    await limiter.close()
    if (typeof redis !== 'string') redis.disconnect()`

  it('needs nothing more for an address', async () => {
    const { url } = await sharedRedis()
    project = new Project().install(packed.library)
    project.write({ 'app.mjs': app(`'${url}'`) })
    expect(await project.printed('app.mjs')).toBe('429')
  })

  it('needs nothing more for its own client', async () => {
    const { url } = await sharedRedis()
    project = new Project().install(packed.library).link('ioredis')
    project.write({ 'app.mjs': app(`new Redis('${url}')`) })
    expect(await project.printed('app.mjs')).toBe('429')
  })
})

describe('an operator who has installed sluice-server', () => {
  it('gets an error that names what to install for traces, and needs none of it without them', async () => {
    project = new Project().install(packed.server)
    project.write({
      'serve.mjs': `process.env.OTEL_TRACES_EXPORTER = 'otlp'
        process.argv.push('serve', '--examples')
        await import('./node_modules/sluice-server/bin/sluice.mjs')`,
    })
    const { code, stderr } = await project.run('serve.mjs')
    expect(code).toBe(1)
    expect(stderr).toContain('TRACES_PACKAGES_MISSING: OTEL_TRACES_EXPORTER: @opentelemetry/api, ')
  })

  it('is asked to install PGlite for --data', async () => {
    project = new Project().install(packed.server)
    const program = join('node_modules', 'sluice-server', 'bin', 'sluice.mjs')
    const { code, stderr } = await project.run(program, 'serve', '--examples', '--data=data')
    expect(code).toBe(1)
    expect(stderr).toContain('PGLITE_PACKAGE_MISSING: --data: @electric-sql/pglite is not installed; run: npm install')
  })

  it('has the dashboard, at the address that is printed', async () => {
    project = new Project().install(packed.server)
    project.write({
      'open.mjs': `import { spawn } from 'node:child_process'
        const args = ['serve', '--examples', '--http-port=0', '--grpc-port=0', '--admin-port=0', '--log-format=text']
        const child = spawn(process.execPath, ['node_modules/sluice-server/bin/sluice.mjs', ...args])
        let text = ''
        for await (const chunk of child.stdout) if ((text += chunk).includes('Ctrl-C stops it')) break
        const [, address] = /^dashboard {2}(\\S+)/m.exec(text)
        const page = await fetch(address, { headers: { accept: 'text/html' } })
        const html = await page.text()
        const script = await fetch(new URL(/src="(\\/assets\\/[^"]+)"/.exec(html)[1], address))
        console.log(page.status, html.includes('<title>Sluice</title>'), script.status, script.headers.get('content-encoding'))
        child.kill('SIGKILL')`,
    })
    expect(await project.printed('open.mjs')).toMatch(/^200 true 200 (br|gzip)$/)
  })

  it('has its commands', async () => {
    project = new Project().install(packed.server)
    const folder = join('node_modules', 'sluice-server')
    const { bin = {}, version } = manifestOf(packed.server)
    for (const path of Object.values(bin))
      expect(await project.printed(join(folder, path), '--version')).toBe(`sluice ${version}`)
    const checked = await project.run(join(folder, bin.sluice), 'check', join(folder, 'examples', 'quickstart.yaml'))
    expect(checked).toMatchObject({ code: 0, stderr: '' })
  })
})
