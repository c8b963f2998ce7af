import { afterEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../tests/servers/until.mjs'
import { processRenewals } from '../engine/renewals.ts'
import { type AdapterUnderTest, runnerOf, type SuiteOptions } from './adapter-app.suite.ts'

const HOUR_MS = 3_600_000

/** One an hour: what is held back is held back for longer than any test takes. */
const HOURLY = { limit: 1, window: '1h', burst: 3, algorithm: 'leaky_bucket' } as const

/** States what every adapter does with requests that wait, and with clients that do not. */
export function testLeaving(adapter: AdapterUnderTest): void {
  const app = runnerOf(adapter)
  let counted = 0
  const answers: (() => void)[] = []

  /** Has the limiter skip requests with `x-free`, and counts the others. */
  const start = (options: SuiteOptions) => {
    counted = 0
    const skip = (request: unknown): boolean => {
      const isFree = adapter.header(request, 'x-free') !== undefined
      if (!isFree) counted++
      return isFree
    }
    return app.start({ ...options, skip })
  }
  /** Has the limiter take its time about requests with `x-slow`, when it knows who is calling. */
  const startSlow = (options: SuiteOptions) => {
    answers.length = 0
    const cost = (request: unknown): number | Promise<number> => {
      if (adapter.header(request, 'x-slow') === undefined) return 1
      return new Promise((resolve) => void answers.push(() => resolve(1)))
    }
    return start({ ...options, cost })
  }
  const exchange = async (): Promise<number> => (await app.running.get('/', { 'x-free': '1' })).status
  /** Has a client leave while the limiter takes its time, and then has the limiter decide. */
  const leaveWhileAsked = async (path = '/hang'): Promise<void> => {
    const client = app.running.visit(path, { 'x-slow': '1' })
    await until('the limiter is asked', () => answers.length === 1)
    await client.leave()
    answers.pop()?.()
    await exchange()
  }
  /** Has clients leave while handlers work for them. */
  const leaveAtWork = async (count: number): Promise<void> => {
    for (let i = 1; i <= count; i++) {
      const client = app.running.visit('/work')
      await until('the handler works', () => app.routes.working === i)
      await client.leave()
    }
  }
  /** Lets the test say what time it is, for timers and for counters. */
  const fakeTime = () => {
    processRenewals.close()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    return { nowMs: () => 1_700_000_000_000 + performance.now() }
  }
  afterEach(() => {
    processRenewals.close()
    vi.useRealTimers()
  })

  describe(`${adapter.name}, when a request has to wait or its client leaves`, () => {
    it('holds a request back for as long as a leaky bucket says', async () => {
      const get = await start(HOURLY)
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      expect((await get()).status).toBe(200)
      const waiting: boolean[] = [true, true]
      const held = waiting.map(async (_, i) => {
        await until('it is its turn', () => counted === i + 1)
        const { status, body } = await get()
        waiting[i] = false
        return [status, body]
      })
      await until('all are counted', () => counted === 3)
      expect([await exchange(), ...waiting]).toEqual([200, true, true])
      vi.advanceTimersByTime(HOUR_MS)
      expect(await held[0]).toEqual([200, 'Hi there!'])
      expect([await exchange(), ...waiting]).toEqual([200, false, true])
      vi.advanceTimersByTime(HOUR_MS)
      expect(await held[1]).toEqual([200, 'Hi there!'])
    })

    it('never begins with a request that was held back until its client left', async () => {
      const get = await start(HOURLY)
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      expect((await get()).status).toBe(200)
      const client = app.running.visit('/hang')
      await until('it is counted', () => counted === 2)
      expect([await exchange(), app.routes.hanging]).toEqual([200, 0])
      await client.leave()
      vi.advanceTimersByTime(HOUR_MS)
      expect([await exchange(), app.routes.hanging]).toEqual([200, 0])
    })

    it('never begins with a request that is to be held back after its client left', async () => {
      const get = await startSlow(HOURLY)
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      expect((await get()).status).toBe(200)
      await leaveWhileAsked()
      vi.advanceTimersByTime(HOUR_MS)
      expect([await exchange(), app.routes.hanging]).toEqual([200, 0])
    })

    it('keeps no place for a client that left while the limiter was asked, once its handler has ended', async () => {
      const get = await startSlow({ limit: 1, algorithm: 'concurrency' })
      await leaveWhileAsked('/')
      await until('the place is free again', async () => (await get()).status === 200)
      await leaveWhileAsked('/work')
      await until('the handler works', () => app.routes.working === 1)
      expect((await get()).status).toBe(429)
      app.routes.finish()
      await until('the place is free again', async () => (await get()).status === 200)
    })

    it('keeps no place for a client that left before its turn came', async () => {
      const decisions: boolean[] = []
      const observer: SuiteOptions['observer'] = { decided: (_, { allowed }) => void decisions.push(allowed) }
      const limits = [{ ...HOURLY, name: 'hourly' }, { limit: 1, algorithm: 'concurrency' } as const]
      const get = await start({ limits, observer })
      expect((await get()).status).toBe(200)
      for (let turn = 2; turn <= 3; turn++) {
        const client = app.running.visit('/work')
        await until('it is decided about', () => decisions.length === turn)
        await client.leave()
      }
      expect([decisions, app.routes.working]).toEqual([[true, true, true], 0])
    })

    it('asks a function whether to give back what a client took that left while the limiter was asked', async () => {
      const get = await startSlow({ limit: 1, window: '1m', refund: (status) => status === undefined })
      await leaveWhileAsked()
      expect([(await get()).status, (await get()).status]).toEqual([200, 429])
    })

    it('gives nothing back to clients that leave, before the limiter has decided or after', async () => {
      const get = await startSlow({ limit: 3, window: '1m', refund: 'failure' })
      await leaveWhileAsked()
      await leaveAtWork(2)
      expect((await get()).status).toBe(429)
      app.routes.finish()
      await exchange()
      expect((await get()).status).toBe(429)
    })

    it('lets no more requests be worked on than there are places, however many clients leave', async () => {
      const get = await start({ limit: 5, algorithm: 'concurrency' })
      await leaveAtWork(5)
      for (let i = 0; i < 35; i++) {
        const { leave } = app.running.visit('/work')
        await until('it is counted', () => counted === i + 6)
        await leave()
      }
      expect([app.routes.working, (await get()).status]).toEqual([5, 429])
      app.routes.finish()
      await until('all places are free again', async () => (await get()).status === 200)
    })

    it('keeps a place for as long as its handler works, also when that is longer than its lease', async () => {
      const clock = fakeTime()
      const get = await start({ limit: 1, algorithm: 'concurrency', leaseTtl: '10s', clock })
      const client = app.running.visit('/work')
      await until('the handler works', () => app.routes.working === 1)
      for (let i = 0; i < 6; i++) {
        await vi.advanceTimersByTimeAsync(8_000)
        expect((await get()).status).toBe(429)
      }
      app.routes.finish()
      await client.leave()
      await until('the place is free again', async () => (await get()).status === 200)
    })

    it('keeps a place for as long as its answer streams', async () => {
      const clock = fakeTime()
      const get = await start({ limit: 1, algorithm: 'concurrency', leaseTtl: '10s', clock })
      const client = app.running.visit('/stream')
      await until('the answer has begun', () => app.routes.streaming === 1)
      await vi.advanceTimersByTimeAsync(60_000)
      expect((await get()).status).toBe(429)
      await client.leave()
      await until('the place is free again', async () => (await get()).status === 200)
    })

    it('renews the place of a handler no more whose client has left: it may never say that it has ended', async () => {
      const clock = fakeTime()
      const get = await start({ limit: 1, algorithm: 'concurrency', leaseTtl: '10s', clock })
      const client = app.running.visit('/hang')
      await until('the place is taken', () => app.routes.hanging === 1)
      await vi.advanceTimersByTimeAsync(60_000)
      expect((await get()).status).toBe(429)
      await client.leave()
      expect((await get()).status).toBe(429)
      await vi.advanceTimersByTimeAsync(10_000)
      expect((await get()).status).toBe(200)
    })

    it('takes a place back from a handler that never ends, when its lease does', async () => {
      const clock = { now: 1_700_000_000_000, nowMs: () => clock.now }
      const get = await start({ limit: 1, algorithm: 'concurrency', leaseTtl: '10s', clock })
      const client = app.running.visit('/hang')
      await until('the place is taken', () => app.routes.hanging === 1)
      await client.leave()
      clock.now += 9_999
      expect((await get()).status).toBe(429)
      clock.now += 1
      expect((await get()).status).toBe(200)
    })
  })
}
