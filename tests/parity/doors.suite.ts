import { createHmac } from 'node:crypto'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkServer } from '../../server/src/edge/check/check-server.ts'
import { openGateway } from '../../server/src/edge/gateway/proxy/gateway.ts'
import { Ceiling } from '../../server/src/edge/gateway-rules/ceiling.ts'
import { compileRoutes } from '../../server/src/edge/gateway-rules/file/compile-routes.ts'
import { LimitGate } from '../../server/src/edge/gateway-rules/limit-gate.ts'
import type { Decision } from '../../src/core/combine.ts'
import { compileObjects } from '../../src/core/rules/compile.ts'
import { parseRules } from '../../src/core/rules/parse.ts'
import type { Domain } from '../../src/core/rules/rule-set.ts'
import type { RuleFile } from '../../src/core/rules/schema.ts'
import type { PlannedCharge } from '../../src/engine/charge.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import type { Observer } from '../../src/engine/observer.ts'
import { requestDescriptors } from '../../src/http-door/caller-descriptors.ts'
import { canonicalMethod } from '../../src/http-door/request-path.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { APPS, type App } from '../attacks/middleware-apps.suite.ts'

/** An Ask is a request as a test describes it: who sends it, to where, and how long after the one before. */
export interface Ask {
  readonly ip: string
  readonly apiKey: string | undefined
  readonly user: string | undefined
  readonly tenant: string | undefined
  readonly tier: string | undefined
  readonly method: string
  readonly path: string
  readonly afterMs: number
}

/** A Told is what a door did with a request: what it charged, and what it said. */
export interface Received {
  readonly charges: readonly string[]
  readonly verdict: string
  readonly status: number
}

/** A Door is a way in, by rules of one domain, on a clock of the test's. */
export interface Door {
  ask(ask: Ask): Promise<Received>
  close(): Promise<void>
}

export interface DoorUnderTest {
  readonly name: string
  start(rules: RuleFile): Promise<Door>
}

const SECRET = 'a secret of at least thirty-two bytes, for tests'
const START_MS = 3_600_000 * 500_000

const base64 = (text: string): string => Buffer.from(text).toString('base64url')

function tokenOf({ user, tenant, tier }: Ask): string | undefined {
  if ((user ?? tenant ?? tier) === undefined) return undefined
  const head = base64(JSON.stringify({ alg: 'HS256', typ: 'JWT' }))
  const text = `${head}.${base64(JSON.stringify({ sub: user, tenant, tier }))}`
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`
}

/** What a client sends. */
function headersOf(ask: Ask): Record<string, string> {
  const token = tokenOf(ask)
  return {
    'x-forwarded-for': ask.ip,
    ...(ask.apiKey !== undefined && { 'x-api-key': ask.apiKey }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
}

class TestClock {
  now = START_MS

  nowMs(): number {
    return this.now
  }
}

/** A Recorder keeps what the last decision was about. Entries name counters: keys have hashes in them. */
class Recorder implements Observer {
  #charges: readonly PlannedCharge[] = []
  #decision: Decision | undefined

  decided(charges: readonly PlannedCharge[], decision: Decision): void {
    this.#charges = charges
    this.#decision = decision
  }

  take(status: number): Received {
    const decision = this.#decision
    const charges = this.#charges.map(counterOf).sort()
    this.#charges = []
    this.#decision = undefined
    return { charges, verdict: decision === undefined ? 'not asked' : verdictOf(decision), status }
  }
}

function counterOf({ rule, entries, cost }: PlannedCharge): string {
  const own = entries.slice(0, rule.path.length).map(({ key, value }) => `${key}=${value}`)
  return `${cost} of ${rule.name} for ${own.join('/')}`
}

function verdictOf({ allowed, verdicts }: Decision): string {
  const refused = verdicts.flatMap(({ rule, verdict }) =>
    verdict.allowed ? [] : [`${rule.name} for ${verdict.kind === 'refused' ? verdict.retryAfterMs : 'ever'} ms`],
  )
  return allowed ? 'allowed' : `refused by ${refused.sort().join(', ')}`
}

const send = (port: number, path: string, method: string, headers: Record<string, string>, body?: string) =>
  new Promise<number>((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false })
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.end(body)
  })

function middleware(app: App): DoorUnderTest {
  return {
    name: app.name,
    start: async (rules) => {
      const clock = new TestClock()
      const observer = new Recorder()
      const target = await app.start(
        {
          rules,
          clock,
          observer,
          identity: {
            apiKey: true,
            jwt: { secret: SECRET, algorithms: ['HS256'] },
            claims: { tenant: 'tenant', tier: 'tier' },
            trustedProxies: ['loopback'],
          },
        },
        [],
      )
      return {
        ask: async (ask) => {
          clock.now += ask.afterMs
          return observer.take(passed(await target.send(ask.path, headersOf(ask), ask.method)))
        },
        close: () => target.close(),
      }
    },
  }
}

/** A status with what the apps answer themselves taken for 200: not all have a handler for each path. */
function passed(status: number): number {
  return status === 404 || status === 405 ? 200 : status
}

const gateway: DoorUnderTest = {
  name: 'the gateway',
  start: async (rules) => {
    const app = createServer((request, response) => void request.resume().on('end', () => response.end()))
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
    const text = `
upstreams: { app: 'http://127.0.0.1:${(app.address() as AddressInfo).port}' }
identity:
  api_key: true
  jwt: { secret_env: SECRET, algorithms: [HS256] }
  claims: { tenant: tenant, tier: tier }
routes: [{ name: all, domain: ${rules.domain} }]
`
    const resources = { readFile: () => Buffer.alloc(0), variable: () => SECRET }
    const { table } = compileRoutes(parseRules('gateway.yaml', text), 'gateway.yaml', resources)
    const clock = new TestClock()
    const observer = new Recorder()
    const compiled = compileObjects([rules])
    const limiter = new Limiter(() => compiled, new MemoryStore({ clock }), { observer })
    const gate = new LimitGate({ limiter, ceiling: new Ceiling(new MemoryStore()) })
    const trust = { trustedProxies: ['loopback'] }
    const listeners = [{ port: 0, host: '127.0.0.1' }]
    const running = await openGateway({ ...table, listeners, gate, trust })
    const port = running.addresses[0]?.port ?? 0
    return {
      ask: async (ask) => {
        clock.now += ask.afterMs
        return observer.take(await send(port, ask.path, ask.method, headersOf(ask)))
      },
      close: async () => {
        await running.close()
        app.closeAllConnections()
        app.close()
      },
    }
  },
}

const check: DoorUnderTest = {
  name: '/v1/check',
  start: async (rules) => {
    const clock = new TestClock()
    const observer = new Recorder()
    const compiled = compileObjects([rules])
    const limiter = new Limiter(() => compiled, new MemoryStore({ clock }), { observer })
    const server = checkServer(limiter)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    return {
      ask: async (ask) => {
        clock.now += ask.afterMs
        const domain = compiled.domains.get(rules.domain) as Domain
        const { ip, apiKey, user, tenant, tier } = ask
        const caller = { ip, apiKey, user, tenant, tier }
        const descriptors = requestDescriptors(domain, caller, canonicalMethod(ask.method), ask.path)
        const body = JSON.stringify({ domain: rules.domain, descriptors })
        return observer.take(await send(port, '/v1/check', 'POST', { 'content-type': 'application/json' }, body))
      },
      close: async () => {
        server.closeAllConnections()
        server.close()
      },
    }
  },
}

const MIDDLEWARES = ['Express', 'Fastify', 'Hono', 'Koa', 'fetch', 'Nest on Express']

/** All ways in for a request of HTTP. */
export const DOORS: readonly DoorUnderTest[] = [
  ...APPS.filter(({ name }) => MIDDLEWARES.includes(name)).map(middleware),
  gateway,
  check,
]
