import { expect, it, onTestFinished } from 'vitest'
import { customer, meter, OWNER } from '../../server/src/ledger/ledger.suite.ts'
import { openQuotas } from '../../server/src/quotas/open/open-quotas.ts'
import { kill, run, type Started, startWith } from '../cli/sluice-process.suite.ts'
import { startPostgres } from '../servers/postgres.mjs'
import { makeTemporaryDir } from '../servers/reaper.mjs'

const LONG_MS = 240_000
const TOKEN = 'the-token-of-a-program'

it('a service buffers what a meter allows while the database is down, says so, and books it after it was killed', {
  timeout: LONG_MS,
}, async () => {
  const postgres = await startPostgres()
  onTestFinished(() => postgres.stop())
  const url = postgres.url(await postgres.createDatabase())
  const quotas = await openQuotas({ url })
  onTestFinished(() => quotas.close())
  await quotas.store.put('meters', meter('exports', { allowance: 100, whenUnavailable: 'buffer' }), OWNER)
  await quotas.store.put('meters', meter('seats', { allowance: 100 }), OWNER)
  await quotas.store.put('customers', customer('acme'), OWNER)

  const data = makeTemporaryDir('outage')
  const env = { SLUICE_ADMIN_TOKEN: `ledger:${TOKEN},admin:the-token-of-an-operator` }
  const start = () => startWith(env, '--database', url, '--data', data)
  const send = async ({ admin }: Started, path: string, body: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const response = await fetch(`${admin}/v1/ledger/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const json = (await response.json()) as Record<string, unknown>
    return { status: response.status, json }
  }
  const look = async ({ admin }: Started, path: string) => {
    const headers = { authorization: 'Bearer the-token-of-an-operator' }
    return (await fetch(`${admin}${path}`, { headers })).text()
  }
  const asked = { customer: 'acme', meter: 'exports' }

  const first = await start()
  const known = await send(first, 'reserve', { ...asked, id: 'r0', amount: 1 })
  expect(known).toMatchObject({ status: 200, json: { buffered: false, state: 'held' } })
  await send(first, 'events', { events: [{ ...asked, meter: 'seats', id: 'e0', amount: 1 }] })
  await postgres.crash()

  expect(await send(first, 'reserve', { ...asked, id: 'r1', amount: 9 })).toMatchObject({
    status: 200,
    json: { id: 'r1', amount: 9, state: 'held', buffered: true, balance: null, repeated: false },
  })
  expect(await send(first, 'commit', { ...asked, id: 'r1', used: 7 })).toMatchObject({
    status: 200,
    json: { used: 7, buffered: true, balance: null },
  })
  const events = await send(first, 'events', { events: [{ ...asked, id: 'e1', amount: 2 }] })
  expect(events).toMatchObject({ status: 200, json: { results: [{ id: 'e1', result: 'buffered' }] } })
  const closed = await send(first, 'reserve', { ...asked, meter: 'seats', id: 'r1', amount: 1 })
  expect(closed).toMatchObject({ status: 503, json: { code: 'DATABASE_UNAVAILABLE' } })
  expect(await look(first, '/metrics')).toMatch(/ratelimit_ledger_buffering\S* 1\n/)
  expect(await look(first, '/metrics')).toMatch(/ratelimit_ledger_waiting\S* 3\n/)
  expect(await look(first, '/readyz')).toContain('degraded: the ledger has 3 confirmed operations to book')
  await first.printed('the ledger keeps operations on the disk')

  await kill(first.child)
  await postgres.restart()
  const second = await start()
  await second.printed('the ledger has booked what it kept on the disk')
  expect(await look(second, '/metrics')).toMatch(/ratelimit_ledger_waiting\S* 0\n/)
  expect(await send(second, 'commit', { ...asked, id: 'r1', used: 7 })).toMatchObject({
    status: 200,
    json: { used: 7, buffered: false, repeated: true, balance: { available: { allowance: 90 }, held: 1 } },
  })
  expect(run(['ledger', 'verify', '--database', url])).toMatchObject({ status: 0 })
})
