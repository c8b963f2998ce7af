import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makePostgres, SLOW_MS } from '../../quotas/database/databases.suite.ts'
import { DAY_MS } from '../core/account-model.suite.ts'
import { customer, meter, openScene } from '../ledger.suite.ts'
import { exportToStripe } from './stripe-export.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 2, 10, 12)
const KEY = 'sk_test_of_this_test'

/** A Stripe that adds up values, and knows an identifier for 24 hours. `mode` is how it answers. */
async function startStripe(now: () => number) {
  const seen = new Map<string, number>()
  const totals = new Map<string, number>()
  const bodies: Record<string, string>[] = []
  const stripe = { url: '', mode: 'ok' as 'ok' | 'taken, then cut' | 'full' | 'refuses' | 'key', totals, bodies }
  const server = createServer(async (request, response) => {
    const body = Object.fromEntries(new URLSearchParams(await text(request)))
    const answer = (status: number, error?: string): void => {
      const json = error === undefined ? { object: 'billing.meter_event' } : { error: { message: error } }
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    }
    if (stripe.mode === 'key' || request.headers.authorization !== `Bearer ${KEY}`) return answer(401, 'Invalid key')
    if (stripe.mode === 'full') return answer(429, 'Too many requests')
    if (stripe.mode === 'refuses') return answer(400, 'No such meter')
    const at = seen.get(body.identifier)
    if (at === undefined || now() - at >= 24 * HOUR_MS) {
      seen.set(body.identifier, now())
      bodies.push(body)
      const of = body['payload[stripe_customer_id]']
      totals.set(of, (totals.get(of) ?? 0) + Number(body['payload[value]']))
    }
    if (stripe.mode === 'taken, then cut') request.socket.destroy()
    else answer(200)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  stripe.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return stripe
}

async function open() {
  let nowMs = START_MS
  const scene = await openScene(await makePostgres(), { clock: () => nowMs })
  const stripe = await startStripe(() => nowMs)
  const known = (id: string) => customer(id, { metadata: { stripe_customer_id: `cus_${id}` } })
  await scene.put(
    meter('exports', { allowance: 100, overdraft: 50 }),
    known('acme'),
    known('other'),
    customer('unknown'),
  )
  const use = (of: string, id: string, amount: number) => scene.ledger.ask(of, 'exports', { kind: 'event', id, amount })
  const send = () =>
    exportToStripe(scene.quotas.db, {
      key: KEY,
      url: stripe.url,
      eventNames: new Map([['exports', 'api_exports']]),
      nowMs: () => nowMs,
    })
  const wait = (ms: number): void => {
    nowMs += ms
  }
  return { scene, stripe, use, send, wait }
}

describe('an export to Stripe', { timeout: SLOW_MS }, () => {
  it('sends what was used, by customer and day, once however often it runs', async () => {
    const { stripe, use, send, wait } = await open()
    await use('acme', 'e1', 5)
    await use('acme', 'e2', 7)
    await use('other', 'e1', 3)
    await use('unknown', 'e1', 9)
    wait(DAY_MS)
    await use('acme', 'e3', 1)
    expect(await send()).toEqual({ events: 3, values: new Map([['exports', 16]]), problems: [] })
    expect(await send()).toMatchObject({ events: 0, problems: [] })
    expect(stripe.bodies[0]).toEqual({
      event_name: 'api_exports',
      identifier: expect.stringMatching(/^sluice-\d+-3$/),
      timestamp: String(START_MS / 1000),
      'payload[stripe_customer_id]': 'cus_acme',
      'payload[value]': '12',
    })
    await use('acme', 'e4', 2)
    expect(await send()).toMatchObject({ events: 1 })
    expect(stripe.totals).toEqual(
      new Map([
        ['cus_acme', 15],
        ['cus_other', 3],
      ]),
    )
  })

  it('sends again what was cut off, with the same identifier and value, whatever was used since', async () => {
    const { stripe, use, send, wait } = await open()
    await use('acme', 'e1', 5)
    stripe.mode = 'taken, then cut'
    expect(await send()).toMatchObject({ events: 0, problems: [{ customerId: 'acme', meterId: 'exports' }] })
    await use('acme', 'e2', 7)
    wait(22 * HOUR_MS)
    stripe.mode = 'ok'
    expect(await send()).toMatchObject({ events: 2, problems: [] })
    expect(stripe.bodies.map((body) => body['payload[value]'])).toEqual(['5', '7'])
    expect(stripe.totals).toEqual(new Map([['cus_acme', 12]]))
  })

  it('does not send again what Stripe may have forgotten, says so, and goes on with others', async () => {
    const { stripe, use, send, wait } = await open()
    await use('acme', 'e1', 5)
    stripe.mode = 'taken, then cut'
    await send()
    wait(25 * HOUR_MS)
    stripe.mode = 'ok'
    await use('other', 'e1', 3)
    expect(await send()).toMatchObject({ events: 1, problems: [{ problem: expect.stringContaining('23 hours ago') }] })
    expect(stripe.totals).toEqual(
      new Map([
        ['cus_acme', 5],
        ['cus_other', 3],
      ]),
    )
  })

  it('takes corrections off, and sends nothing while more was given back than used', async () => {
    const { scene, stripe, use, send, wait } = await open()
    await use('acme', 'e1', 5)
    await send()
    await scene.ledger.ask('acme', 'exports', { kind: 'correct', id: 'c1', corrects: 'e1', amount: 4 })
    await use('acme', 'e2', 1)
    wait(DAY_MS)
    expect(await send()).toMatchObject({ events: 0, problems: [] })
    await use('acme', 'e3', 10)
    expect(await send()).toMatchObject({ events: 1, values: new Map([['exports', 7]]) })
    expect(stripe.totals).toEqual(new Map([['cus_acme', 12]]))
  })

  it('keeps what Stripe has no time for, and determines again what it refuses', async () => {
    const { stripe, use, send, wait } = await open()
    await use('acme', 'e1', 5)
    stripe.mode = 'full'
    expect(await send()).toMatchObject({ problems: [{ problem: 'Stripe answered 429: Too many requests' }] })
    stripe.mode = 'refuses'
    expect(await send()).toMatchObject({ problems: [{ problem: 'Stripe answered 400: No such meter' }] })
    // Nothing is on its way: more than a day later it is still safe to send.
    wait(DAY_MS * 2)
    stripe.mode = 'key'
    await expect(send()).rejects.toMatchObject({ code: 'STRIPE_KEY_REFUSED' })
    stripe.mode = 'ok'
    expect(await send()).toMatchObject({ events: 1, problems: [] })
    expect(stripe.totals).toEqual(new Map([['cus_acme', 5]]))
  })

  it('sends once what two of them send at the same time', async () => {
    const { stripe, use, send } = await open()
    for (let i = 0; i < 5; i++) await use('acme', `e${i}`, 1)
    await Promise.all([send(), send(), send()])
    expect(stripe.totals).toEqual(new Map([['cus_acme', 5]]))
  })
})
