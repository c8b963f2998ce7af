import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { loadRules } from 'sluice/internal/core/rules/load'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Callers } from '../callers/callers.ts'
import { ReservationTokens } from '../leases/reservation-tokens.ts'
import { checkServer } from './check-server.ts'

const RULES = `
domain: api
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 100, algorithm: token_bucket }
  - key: place
    rate_limit: { algorithm: concurrency, requests_per_unit: 1 }
`
const ask = (cost: number, key = 'user') => ({
  domain: 'api',
  descriptors: [{ entries: [{ key, value: 'alice' }] }],
  cost,
})

interface Answer {
  readonly status: number
  readonly body: {
    readonly allowed?: boolean
    readonly reservation?: string
    readonly code?: string
    readonly verdicts?: readonly { readonly remaining: number; readonly dropped?: number }[]
  }
}

/** nodes are services that share a store and a secret. */
async function nodes(count: number) {
  const rules = loadRules([{ file: 'a.yaml', text: RULES }])
  const store = new MemoryStore({ clock: { nowMs: () => 1_000_000 } })
  const urls: string[] = []
  for (let i = 0; i < count; i++) {
    const server = checkServer(new Limiter(() => rules, store), {
      callers: new Callers({ trustAll: true }),
      reservations: new ReservationTokens('a secret'),
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  }
  return urls.map((url) => async (path: string, body: object): Promise<Answer> => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), headers })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  })
}

describe('a reservation', () => {
  it('charges the estimate, and settles what was too much', async () => {
    const [post] = await nodes(1)
    const { status, body } = await post('/v1/reserve', ask(60))
    expect(status).toBe(200)
    expect(body.verdicts?.[0].remaining).toBe(40)
    const settled = await post('/v1/settle', { reservation: body.reservation, cost: 10 })
    expect(settled).toMatchObject({ status: 200, body: { allowed: true, verdicts: [{ remaining: 90 }] } })
    expect((await post('/v1/check', ask(0))).body.verdicts?.[0].remaining).toBe(90)
  })

  it('carries over as debt what was too little, one whole budget at the most', async () => {
    const [post] = await nodes(1)
    const { body } = await post('/v1/reserve', ask(60))
    const settled = await post('/v1/settle', { reservation: body.reservation, cost: 1_000 })
    expect(settled.body.verdicts).toMatchObject([{ remaining: 0, dropped: 800 }])
    expect((await post('/v1/check', ask(1))).status).toBe(429)
  })

  it('is settled by another node with the same secret', async () => {
    const [here, there] = await nodes(2)
    const { body } = await here('/v1/reserve', ask(60))
    expect((await there('/v1/settle', { reservation: body.reservation, cost: 0 })).status).toBe(200)
  })

  it('is not made for what was refused, and not for places', async () => {
    const [post] = await nodes(1)
    const refused = await post('/v1/reserve', ask(101))
    expect(refused).toMatchObject({ status: 429, body: { allowed: false } })
    expect(refused.body.reservation).toBeUndefined()
    expect((await post('/v1/reserve', ask(1, 'place'))).body.reservation).toBeUndefined()
  })

  it('settled at what was reserved changes nothing', async () => {
    const [post] = await nodes(1)
    const { body } = await post('/v1/reserve', ask(60))
    const settled = await post('/v1/settle', { reservation: body.reservation, cost: 60 })
    expect(settled).toMatchObject({ status: 200, body: { allowed: true, verdicts: [] } })
  })

  it.each<[string, object, string]>([
    ['no text', { reservation: 7, cost: 1 }, 'SETTLE_INVALID'],
    ['without a cost', { reservation: 'a' }, 'SETTLE_INVALID'],
    ['below 0', { reservation: 'a', cost: -1 }, 'SETTLE_INVALID'],
    ['made up', { reservation: 'a'.repeat(100), cost: 1 }, 'RESERVATION_INVALID'],
  ])('is refused: %s', async (_, body, code) => {
    const [post] = await nodes(1)
    expect(await post('/v1/settle', body)).toMatchObject({ status: 400, body: { code } })
  })

  it('that is too long to be sent back is refused, and not charged', async () => {
    const [post] = await nodes(1)
    const long = { ...ask(1), descriptors: [{ entries: [{ key: 'user', value: 'a'.repeat(15_000) }] }] }
    expect(await post('/v1/reserve', long)).toMatchObject({ status: 400, body: { code: 'RESERVATION_TOO_LARGE' } })
    const fits = { ...ask(1), descriptors: [{ entries: [{ key: 'user', value: '\u{10FFFF}'.repeat(3_700) }] }] }
    const { body } = await post('/v1/reserve', fits)
    expect((await post('/v1/settle', { reservation: body.reservation, cost: 2 })).status).toBe(200)
  })
})
