import { expect, it, onTestFinished } from 'vitest'
import { type AdminKit, startAdmin } from '../../server/src/admin/admin-kit.suite.ts'
import { ledger } from '../../src/entries/ledger.ts'
import type { Budget } from '../../src/http-door/budget.ts'
import type { ServiceLedgerOptions } from '../../src/library/service-ledger.ts'
import { runApp } from '../../src/middleware/express/express-app.suite.ts'
import { rateLimit } from '../../src/middleware/express/index.ts'
import { startProxy } from '../servers/proxy.mjs'
import { until } from '../servers/until.mjs'

const LIMIT = { unit: 'day', requests_per_unit: 1_000 } as const
const RULES = {
  domain: 'paid',
  descriptors: [
    {
      key: 'tenant',
      rate_limit: { ...LIMIT, name: 'calls', ledger: { meter: 'exports', amount: 'settled' as const } },
    },
  ],
}

/** An app whose rules ask the ledger of a service with an allowance of 10. `/?used=3` settles. */
async function start(more: Partial<ServiceLedgerOptions> = {}, options: object = {}, given?: AdminKit) {
  const kit = given ?? (await startAdmin())
  await kit.ask('POST', 'customers', { body: { id: 'acme' } })
  await kit.ask('PUT', 'meters/exports', { body: { allowance: 10 } })
  const errors: string[] = []
  const onError = (error: unknown): void => void errors.push(String(error))
  let during = async (): Promise<void> => {}
  const limiter = rateLimit({
    rules: RULES,
    cost: 4,
    identity: { tenant: (request) => request.get('x-tenant') },
    ledger: ledger({ url: kit.url, token: kit.token.ledger, onError, ...more }),
    ...options,
  })
  const app = await runApp(limiter, async (request, _response, next) => {
    await during()
    const used = request.query.used
    if (used !== undefined) await (request as unknown as { rateLimit: Budget }).rateLimit.settle(Number(used))
    next()
  })
  onTestFinished(() => app.close())
  const get = (path: string, tenant = 'acme') => app.get(path, { 'x-tenant': tenant })
  const left = async () => {
    const { json } = await kit.ask('GET', 'ledger/balance?customer=acme&meter=exports', { as: 'ledger' })
    const { available, held } = json as unknown as { available: { allowance: number }; held: number }
    return { allowance: available.allowance, held }
  }
  const whileHandled = (work: () => Promise<void>): void => {
    during = work
  }
  return { kit, get, left, errors, whileHandled }
}

it('reserves before a handler, commits what it settles, and answers 402 when nothing is left', async () => {
  const { get, left, kit } = await start()
  const first = await get('/?used=3')
  expect([first.status, first.headers['sluice-ledger']]).toEqual([
    200,
    expect.stringMatching(/^"exports";paid=4;from="allowance";left=6;period-ends=\d{10}$/),
  ])
  await until('it is committed', async () => JSON.stringify(await left()) === '{"allowance":7,"held":0}')
  await get('/')
  await until('what was reserved is committed', async () => JSON.stringify(await left()) === '{"allowance":3,"held":0}')
  const refused = await get('/')
  expect([refused.status, refused.headers['sluice-ledger'], refused.headers['retry-after']]).toEqual([
    402,
    '"exports";short=4;left=3;ran-out="allowance";would-help="next_period credits"',
    undefined,
  ])
  expect(JSON.parse(refused.body).error).toMatchObject({
    code: 'LEDGER_SHORT',
    ledger: [{ meter: 'exports', needed: 4 }],
  })
  await kit.ask('POST', 'customers/acme/ledger/exports/issues', { body: { id: 'i', kind: 'credit', amount: 50 } })
  await until('a top-up counts', async () => (await get('/?used=0')).status === 200)
})

it('refunds what the middleware refunds', async () => {
  const { get, left } = await start({}, { refund: 'failure' })
  expect((await get('/error')).status).toBe(400)
  await until('it is released', async () => JSON.stringify(await left()) === '{"allowance":10,"held":0}')
})

it('refuses who is no customer with 402, and says so to the app', async () => {
  const { get, errors } = await start()
  const { status, body } = await get('/', 'nobody')
  expect([status, JSON.parse(body).error.code]).toEqual([402, 'LEDGER_CUSTOMER_UNKNOWN'])
  expect(errors).toHaveLength(1)
  const none = await start({ customer: () => undefined })
  expect((await none.get('/')).status).toBe(402)
})

it('refuses with 503 while the service does not answer, and commits late what was used', async () => {
  const target = await startAdmin()
  const proxy = await startProxy(Number(new URL(target.url).port))
  onTestFinished(() => proxy.stop())
  const app = await start({ url: `http://127.0.0.1:${proxy.port}` }, {}, target)
  app.whileHandled(async () => {
    await proxy.refuse()
    await proxy.cut()
  })
  expect((await app.get('/?used=1')).status).toBe(200)
  const away = await app.get('/')
  expect([away.status, away.headers['sluice-ledger'], away.headers['retry-after']]).toEqual([
    503,
    '"exports";unavailable',
    '1',
  ])
  app.whileHandled(async () => {})
  await proxy.heal()
  await until('it is committed', async () => JSON.stringify(await app.left()) === '{"allowance":9,"held":0}')
  expect((await app.get('/')).status).toBe(200)
})

it.each([
  [{ token: 't' }, 'url: got undefined'],
  [{ url: 'http://a' }, 'token: got undefined'],
  [{ url: 'http://a', token: 't', meter: 'm' }, 'meter: unknown option'],
])('refuses options such as %o', (options, message) => {
  expect(() => ledger(options as ServiceLedgerOptions)).toThrow(message)
})

it('is refused by middleware without rules', () => {
  const pays = ledger({ url: 'http://a', token: 't' })
  expect(() => rateLimit({ limit: 1, window: '1m', ledger: pays })).toThrow('ledger')
})
