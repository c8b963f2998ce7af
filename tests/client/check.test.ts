import { describe, expect, it } from 'vitest'
import { createCheckClient } from '../../client/src/check/index.ts'
import { startApi } from './service.suite.ts'

const ask = (key: string, cost: number) => ({
  domain: 'api',
  descriptors: [{ entries: [{ key, value: 'alice' }] }],
  cost,
})

describe('the check client and a service', () => {
  it('check, and are refused', async () => {
    const client = createCheckClient({ url: await startApi(), deadlineMs: 60_000 })
    expect(await client.check(ask('tokens', 400))).toMatchObject({ allowed: true, verdicts: [{ remaining: 600 }] })
    expect(await client.check(ask('tokens', 700))).toMatchObject({ allowed: false, verdicts: [{ kind: 'refused' }] })
  })

  it('acquire and release', async () => {
    const client = createCheckClient({ url: await startApi(), deadlineMs: 60_000 })
    const permit = await client.acquire(ask('jobs', 1))
    expect(permit.allowed).toBe(true)
    expect((await client.acquire(ask('jobs', 1))).allowed).toBe(false)
    expect([permit.leaseTtlMs, await permit.renew()]).toEqual([60_000, 'renewed'])
    await permit.release()
    expect(await permit.renew()).toBe('lost')
    expect((await client.acquire(ask('jobs', 1))).allowed).toBe(true)
  })

  it('hold permits for longer than their lease', async () => {
    const url = await startApi()
    let renewals = 0
    let enough = (): void => {}
    const held = new Promise<void>((resolve) => {
      enough = resolve
    })
    const client = createCheckClient({
      url,
      deadlineMs: 60_000,
      fetch: async (input, init) => {
        const response = await fetch(input, init)
        // At every third of its time: with the fourth, a place would have run out.
        if (String(input).endsWith('/v1/renew') && ++renewals === 4) enough()
        return response
      },
    })
    const refused = await client.hold(ask('brief_jobs', 1), async ({ signal }) => {
      await held
      expect(signal.aborted).toBe(false)
      return client.acquire(ask('brief_jobs', 1))
    })
    expect(refused.allowed).toBe(false)
    expect((await client.acquire(ask('brief_jobs', 1))).allowed).toBe(true)
  })

  it('reserve and settle', async () => {
    const client = createCheckClient({ url: await startApi(), deadlineMs: 60_000 })
    const reservation = await client.reserve(ask('tokens', 900))
    expect([await reservation.settle(100), await reservation.settle(100)]).toEqual([true, false])
    expect(await client.check(ask('tokens', 0))).toMatchObject({ verdicts: [{ remaining: 900 }] })
  })

  it('continue without an answer, as configured', async () => {
    const url = 'http://127.0.0.1:1'
    expect(await createCheckClient({ url }).check(ask('tokens', 1))).toMatchObject({ allowed: true })
    expect(await createCheckClient({ url, onFailure: 'closed' }).check(ask('tokens', 1))).toMatchObject({
      allowed: false,
    })
  })
})
