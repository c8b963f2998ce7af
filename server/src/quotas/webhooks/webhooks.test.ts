import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import type { WebhookFields } from '../../admin/webhooks/table.ts'
import { SLOW_MS, testDatabases } from '../database/databases.suite.ts'
import { quotasOn } from '../open/open-quotas.ts'
import { SUPPORT } from '../records/record-store.suite.ts'
import type { Crossing } from '../usage/usage-news.ts'
import { CrossingQueue } from './crossing-queue.ts'
import { startReceiver } from './receiver.suite.ts'
import { SealedSecrets } from './sealed-secrets.ts'
import { newWebhookSecret } from './signature.ts'
import { type DeliveryOutcome, WebhookCourier } from './webhook-courier.ts'
import { MAX_ENDPOINTS, WebhookStore } from './webhook-store.ts'

const START = Date.parse('2026-03-10T12:00:00Z')
const MINUTE = 60_000
const DAY = 86_400_000

const fields = (url: string, more: Partial<WebhookFields> = {}): WebhookFields => ({
  url,
  description: '',
  customerId: undefined,
  events: ['quota.threshold'],
  thresholds: [50, 80, 100],
  isEnabled: true,
  ...more,
})

const crossing = (more: Partial<Crossing> = {}): Crossing => ({
  customerId: 'acme',
  keyId: undefined,
  limit: 'api/customer',
  threshold: 80,
  used: 80,
  quota: 100,
  periodStartMs: Date.parse('2026-03-01T00:00:00Z'),
  periodEndMs: Date.parse('2026-04-01T00:00:00Z'),
  ...more,
})

/** Verifies as a receiver would, without our code. */
function isSigned(
  secret: string,
  { headers, body }: { headers: NodeJS.Dict<string | string[]>; body: string },
): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const right = `v1,${createHmac('sha256', key).update(text).digest('base64')}`
  return String(headers['webhook-signature']).split(' ').includes(right)
}

describe.each(testDatabases)('webhooks on %s', { timeout: SLOW_MS }, (_, make) => {
  async function open() {
    const clock = { ms: START }
    const now = () => clock.ms
    const place = await make()
    const node = async () => {
      const quotas = await quotasOn(await place.open(), { now, secret: 'of the installation' })
      const sealed = new SealedSecrets(() => quotas.keys.keyFor('webhook secrets'))
      const store = new WebhookStore({ ...quotas, sealed, now, allowPrivate: true })
      const outcomes: DeliveryOutcome[] = []
      const courier = new WebhookCourier({
        db: quotas.db,
        sealed,
        now,
        random: () => 0,
        allowPrivate: true,
        disable: (id, reason, by) => store.disable(id, reason, by),
        ended: (outcome) => outcomes.push(outcome),
      })
      const crossings = new CrossingQueue(quotas.db, now)
      const send = async (): Promise<void> => {
        await courier.work()
        await courier.idle()
      }
      const report = async (...some: Crossing[]): Promise<number> => {
        crossings.take(some)
        return crossings.write()
      }
      return { ...quotas, store, courier, crossings, outcomes, send, report }
    }
    return { ...(await node()), clock, node, place }
  }

  it('notifies an endpoint that a threshold was reached, signed as Standard Webhooks say', async () => {
    const { store, report, send, outcomes } = await open()
    const receiver = await startReceiver()
    const secret = newWebhookSecret()
    const { id } = await store.create(fields(receiver.url), secret, SUPPORT)
    expect(await report(crossing({ keyId: 'k-1' }))).toBe(1)
    await send()
    const [received] = receiver.received
    expect(JSON.parse(received.body)).toEqual({
      type: 'quota.threshold',
      timestamp: '2026-03-10T12:00:00.000Z',
      data: {
        customer_id: 'acme',
        api_key_id: 'k-1',
        limit: 'api/customer',
        threshold: 80,
        used: 80,
        quota: 100,
        period: { start: '2026-03-01T00:00:00.000Z', end: '2026-04-01T00:00:00.000Z' },
      },
    })
    expect([isSigned(secret, received), isSigned(newWebhookSecret(), received), outcomes]).toEqual([
      true,
      false,
      ['delivered'],
    ])
    expect((await store.deliveries(id, { limit: 9 })).items).toMatchObject([
      { id: received.headers['webhook-id'], state: 'delivered', attempts: 1, lastStatus: 204, finishedAtMs: START },
    ])
  })

  it('reports each threshold once per period and limit, however often it arrives', async () => {
    const { store, report, node } = await open()
    await store.create(fields('https://example.com/'), newWebhookSecret(), SUPPORT)
    const other = await node()
    expect(await report(crossing(), crossing())).toBe(1)
    expect(await other.report(crossing({ used: 81 }))).toBe(0)
    expect(await report(crossing({ threshold: 100 }), crossing({ limit: 'api/other' }), crossing({ keyId: 'k' }))).toBe(
      3,
    )
    expect(await report(crossing({ periodStartMs: START }))).toBe(1)
  })

  it('sends to endpoints that want it, and sends a new endpoint nothing old', async () => {
    const { store, report } = await open()
    const make = (more: Partial<WebhookFields>) =>
      store.create(fields('https://example.com/', more), newWebhookSecret(), SUPPORT)
    await make({ customerId: 'acme' })
    await make({ customerId: 'beta' })
    await make({ thresholds: [100] })
    await make({ isEnabled: false })
    await make({ events: [] })
    expect(await report(crossing())).toBe(1)
    await make({})
    expect(await report(crossing())).toBe(0)
    expect(await report(crossing({ threshold: 100, customerId: 'gamma' }))).toBe(2)
  })

  it('tries again on the schedule with the same id and a new timestamp, and gives up after ten attempts', async () => {
    const { store, report, send, clock, outcomes } = await open()
    const receiver = await startReceiver(500)
    const { id } = await store.create(fields(receiver.url), newWebhookSecret(), SUPPORT)
    await report(crossing())
    await send()
    const delivery = async () => (await store.deliveries(id, { limit: 1 })).items[0]
    expect(await delivery()).toMatchObject({ state: 'waiting', nextAtMs: START + 5_000, lastError: 'answered 500' })
    clock.ms += 4_999
    await send()
    expect(receiver.received.length).toBe(1)
    for (let attempt = 2; attempt <= 10; attempt++) {
      clock.ms = (await delivery()).nextAtMs ?? 0
      await send()
    }
    expect(await delivery()).toMatchObject({ state: 'failed', attempts: 10, nextAtMs: undefined })
    expect(outcomes).toEqual([...Array(9).fill('retried'), 'failed'])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10)
    receiver.status = 200
    const { id: deliveryId } = await delivery()
    expect(await store.redeliver(id, deliveryId, SUPPORT)).toMatchObject({ state: 'waiting', attempts: 0 })
    expect(await store.redeliver(id, 'nothing', SUPPORT)).toBeUndefined()
    await send()
    expect(await delivery()).toMatchObject({ state: 'delivered' })
  })

  it('follows no redirect', async () => {
    const { store, send, outcomes } = await open()
    const receiver = await startReceiver(302)
    const { id } = await store.create(fields(receiver.url), newWebhookSecret(), SUPPORT)
    await store.test(id, SUPPORT)
    await send()
    expect([receiver.received.length, outcomes]).toEqual([1, ['retried']])
  })

  it('switches an endpoint off that is gone, until it is switched on again', async () => {
    const { store, report, send, audit, outcomes } = await open()
    const receiver = await startReceiver(410)
    const { id } = await store.create(fields(receiver.url), newWebhookSecret(), SUPPORT)
    await report(crossing())
    await send()
    expect(await store.get(id)).toMatchObject({ isEnabled: false, disabledReason: 'answered 410' })
    expect([outcomes, await report(crossing({ threshold: 100 }))]).toEqual([['gone'], 0])
    expect((await audit.list({ limit: 1 })).items[0]).toMatchObject({
      action: 'webhooks.disable',
      actor: { id: 'webhooks' },
    })
    await store.update(id, fields(receiver.url), SUPPORT)
    expect(await store.get(id)).toMatchObject({ isEnabled: true, disabledReason: undefined })
  })

  it('signs with both secrets for a day after a rotation', async () => {
    const { store, send, clock } = await open()
    const receiver = await startReceiver()
    const [former, later] = [newWebhookSecret(), newWebhookSecret()]
    const { id } = await store.create(fields(receiver.url), former, SUPPORT)
    await store.rotate(id, later, SUPPORT, 1)
    const signedBy = async () => {
      await store.test(id, SUPPORT)
      await send()
      const last = receiver.received[receiver.received.length - 1]
      return [isSigned(former, last), isSigned(later, last)]
    }
    expect(await signedBy()).toEqual([true, true])
    clock.ms += DAY
    expect(await signedBy()).toEqual([false, true])
  })

  it('keeps secrets sealed, and shows them to no one', async () => {
    const { store, audit, place } = await open()
    const secret = newWebhookSecret()
    const endpoint = await store.create(fields('https://example.com/'), secret, SUPPORT)
    const rows = await place.asSuperuser('SELECT * FROM sluice.webhook_endpoints')
    const all = JSON.stringify([rows, endpoint, await store.list({ limit: 9 }), await audit.list({ limit: 9 })])
    expect(all).not.toContain(secret)
    expect(all).not.toContain(secret.slice(6, 20))
  })

  it('shares the work between nodes: each delivery is sent by one of them', async () => {
    const { store, report, send, node, outcomes } = await open()
    const receiver = await startReceiver()
    await store.create(fields(receiver.url), newWebhookSecret(), SUPPORT)
    const others = await Promise.all([node(), node()])
    await report(...Array.from({ length: 30 }, (_, n) => crossing({ customerId: `c-${n}` })))
    await Promise.all([send(), ...others.map((other) => other.send())])
    const all = [outcomes, ...others.map((other) => other.outcomes)].flat()
    expect(all).toEqual(Array(30).fill('delivered'))
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(30)
  })

  it('sends what a node that died had claimed, a minute later', async () => {
    const { store, report, db, node, clock } = await open()
    const receiver = await startReceiver()
    const { id } = await store.create(fields(receiver.url), newWebhookSecret(), SUPPORT)
    await report(crossing())
    await db.query('UPDATE sluice.webhook_deliveries SET next_at = to_timestamp($1::float8 / 1000)', [START + MINUTE])
    const other = await node()
    await other.send()
    expect(receiver.received.length).toBe(0)
    clock.ms += MINUTE
    await other.send()
    expect((await store.deliveries(id, { limit: 9 })).items[0]).toMatchObject({ state: 'delivered' })
  })

  it('lets one endpoint that hangs take two places of sixteen', async () => {
    const { store, report, courier, clock } = await open()
    const hanging = await startReceiver('never')
    const healthy = await startReceiver()
    await store.create(fields(hanging.url, { thresholds: [50] }), newWebhookSecret(), SUPPORT)
    await report(...Array.from({ length: 20 }, (_, n) => crossing({ customerId: `c-${n}`, threshold: 50 })))
    clock.ms += 1
    await store.create(fields(healthy.url, { thresholds: [100] }), newWebhookSecret(), SUPPORT)
    await report(...Array.from({ length: 20 }, (_, n) => crossing({ customerId: `c-${n}`, threshold: 100 })))
    await courier.work()
    await until('the other endpoint has everything', () => healthy.received.length === 20)
    expect(hanging.received.length).toBe(2)
  })

  it('refuses addresses that no webhook may go to, a stale version, and one too many', async () => {
    const { db, audit, keys, store } = await open()
    const sealed = new SealedSecrets(() => keys.keyFor('webhook secrets'))
    const strict = new WebhookStore({ db, audit, sealed })
    expect(() => strict.create(fields('https://127.0.0.1/'), newWebhookSecret(), SUPPORT)).toThrow(
      'WEBHOOK_URL_INVALID',
    )
    const { id, version } = await store.create(fields('https://example.com/'), newWebhookSecret(), SUPPORT)
    await expect(store.update(id, fields('https://example.com/'), SUPPORT, version + 1)).rejects.toThrow(
      'VERSION_STALE',
    )
    await expect(store.remove('nobody', SUPPORT)).rejects.toThrow('RECORD_UNKNOWN')
    for (let n = 1; n < MAX_ENDPOINTS; n++)
      await store.create(fields('https://a.example/'), newWebhookSecret(), SUPPORT)
    await expect(store.create(fields('https://a.example/'), newWebhookSecret(), SUPPORT)).rejects.toThrow(
      'WEBHOOKS_TOO_MANY: webhooks: there are 50. At most 50 webhooks can exist. Remove one first.',
    )
    const first = await store.list({ limit: 30 })
    const second = await store.list({ limit: 30, after: first.next })
    expect([first.items.length, second.items.length, second.next]).toEqual([30, 20, undefined])
    await store.remove(id, SUPPORT, version)
    expect(await store.get(id)).toBeUndefined()
  })

  it('pages deliveries, the newest first', async () => {
    const { store, clock } = await open()
    const { id } = await store.create(fields('https://example.com/'), newWebhookSecret(), SUPPORT)
    const made: string[] = []
    for (let n = 0; n < 5; n++) {
      clock.ms += 10
      made.unshift((await store.test(id, SUPPORT)).id)
    }
    const first = await store.deliveries(id, { limit: 3 })
    const second = await store.deliveries(id, { limit: 3, after: first.next })
    expect([...first.items, ...second.items].map((each) => each.id)).toEqual(made)
    expect([first.items.length, second.next]).toEqual([3, undefined])
  })
})
