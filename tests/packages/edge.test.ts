import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../servers/until.mjs'
import { esbuildPath, installCompilers } from './compilers.suite.ts'
import { type Packed, Project, pack } from './project.suite.ts'
import { hasWorkerd, installRunners, workerdPath } from './runners.suite.ts'

let packed: Packed
let project: Project
beforeAll(async () => {
  await Promise.all([installCompilers(), installRunners()])
  packed = await pack()
  project = new Project().install(packed.library).link('hono')
}, 600_000)
afterAll(() => project?.remove())

/** What runtimes at the edge resolve packages by. */
const CONDITIONS = { workers: 'workerd,worker,browser', vercel: 'edge-light', browsers: 'browser' }

/**
 * Bundles a file of the project as a platform's tool does, and returns the path of the bundle. With `nodejs_compat`,
 * modules of Node.js are those of the runtime.
 */
async function bundled(file: string, conditions: string, withNode = false): Promise<string> {
  const out = `${file}.out.mjs`
  const args = [file, '--bundle', '--format=esm', `--outfile=${out}`, `--conditions=${conditions}`, '--log-level=error']
  if (withNode) args.push('--external:node:*')
  const child = spawn(esbuildPath(), args, { cwd: project.folder })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return join(project.folder, out)
}

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Runs a bundle in Cloudflare's runtime, without anything of Node.js unless flags ask for it, and returns its address. */
async function served(bundle: string, flags: readonly string[] = []): Promise<string> {
  const port = await freePort()
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "${bundle.split('/').at(-1)}")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ${JSON.stringify(flags)},
);`
  writeFileSync(`${bundle}.capnp`, config)
  const child = spawn(workerdPath(), ['serve', `${bundle}.capnp`], { cwd: project.folder })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/`
  await until('workerd answers', async () => {
    if (child.exitCode !== null) throw new Error(`workerd ended: ${said}`)
    return fetch(url, { headers: { 'x-user': 'probe' } }).then(
      () => true,
      () => false,
    )
  })
  return url
}

const SECRET = 'a secret of at least thirty-two bytes'

function tokenOf(user: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256' })}.${part({ sub: user })}`
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`
}

const APPS = {
  // Limits are made while the module loads, as apps do.
  'sluice.mjs': `import { createLimiter, rateLimit } from 'sluice'
    const limiter = rateLimit({ limit: 1, window: '1m' })
    const places = rateLimit({ limit: 1, algorithm: 'concurrency' })
    const rules = { domain: 'api', descriptors: [{ key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 2 } }] }
    const byRules = createLimiter({ rules })
    export default { fetch(request) {
      const user = request.headers.get('x-user')
      const permit = places.acquire(user)
      const descriptors = [{ entries: [{ key: 'user', value: user }] }]
      const allowed = limiter.check(user).allowed && byRules.check({ domain: 'api', descriptors }).allowed && permit.allowed
      permit.release()
      return new Response(null, { status: allowed ? 200 : 429 })
    } }`,
  'fetch.mjs': `import { protect } from 'sluice/fetch'
    const handle = async () => new Response('hello')
    export default { fetch: protect(handle, { limit: 1, window: '1m', by: (request) => request.headers.get('x-user') }) }`,
  'hono.mjs': `import { Hono } from 'hono'
    import { rateLimit } from 'sluice/hono'
    const app = new Hono()
    app.use(rateLimit({ limit: 1, window: '1m', by: (c) => c.req.header('x-user') }))
    app.get('/', (c) => c.text('hello'))
    export default app`,
  'compat.mjs': `import { Hono } from 'hono'
    import { rateLimiter } from 'sluice/compat/hono-rate-limiter'
    const app = new Hono()
    app.use(rateLimiter({ limit: 1, windowMs: 60_000, keyGenerator: (c) => c.req.header('x-user') }))
    app.get('/', (c) => c.text('hello'))
    export default app`,
}
type App = keyof typeof APPS

/** What needs modules of Node.js, which Workers have with `nodejs_compat`. */
const WITH_NODE = {
  'jwt.mjs': `import { protect } from 'sluice/fetch'
    import { jwt } from 'sluice/jwt'
    const handle = async () => new Response('hello')
    const identity = { jwt: jwt({ secret: '${SECRET}' }) }
    export default { fetch: protect(handle, { limit: 1, window: '1m', by: 'user', identity }) }`,
  'rules.mjs': `import { protect } from 'sluice/fetch'
    import { rules } from 'sluice/rules'
    const handle = async () => new Response('hello')
    const given = { domain: 'api', descriptors: [{ key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 1 } }] }
    const descriptors = (request) => [{ entries: [{ key: 'user', value: request.headers.get('x-user') }] }]
    export default { fetch: protect(handle, { rules: rules(given), descriptors }) }`,
}

/** Entries whose code for Node.js is loaded by no one at the edge. */
const AT_THE_EDGE: readonly App[] = ['sluice.mjs', 'fetch.mjs', 'hono.mjs', 'compat.mjs']

describe.runIf(hasWorkerd)('Cloudflare Workers', () => {
  it.each(AT_THE_EDGE)('run %s without compatibility with Node.js', async (file) => {
    project.write({ [file]: APPS[file] })
    const url = await served(await bundled(file, CONDITIONS.workers))
    const status = async (user: string): Promise<number> => (await fetch(url, { headers: { 'x-user': user } })).status
    expect([await status('a'), await status('a'), await status('b')]).toEqual([200, 429, 200])
  })
})

describe.runIf(hasWorkerd)('Cloudflare Workers with nodejs_compat', () => {
  it.each(Object.keys(WITH_NODE) as (keyof typeof WITH_NODE)[])('run %s', async (file) => {
    project.write({ [file]: WITH_NODE[file] })
    const url = await served(await bundled(file, CONDITIONS.workers, true), ['nodejs_compat'])
    const status = async (user: string): Promise<number> =>
      (await fetch(url, { headers: { 'x-user': user, authorization: `Bearer ${tokenOf(user)}` } })).status
    expect([await status('a'), await status('a'), await status('b')]).toEqual([200, 429, 200])
  })
})

describe.runIf(hasWorkerd)('a bundle', () => {
  it.each(['vercel', 'browsers'] as const)('for %s needs no module of Node.js', async (runtime) => {
    for (const file of AT_THE_EDGE) {
      project.write({ [file]: APPS[file] })
      // esbuild resolves no module of Node.js for this platform: one would be an error.
      await bundled(file, CONDITIONS[runtime])
    }
  })
})
