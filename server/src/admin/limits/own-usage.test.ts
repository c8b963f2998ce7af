import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkServer } from '../../edge/check/check-server.ts'
import type { ReservingPort } from '../../edge/limiter-port.ts'
import { Throttle } from '../access/throttle.ts'
import type { LimitState } from './limit-states.ts'
import type { OwnUsage } from './own-usage.ts'
import { ownUsageRoute } from './own-usage.ts'

const LIMIT: LimitState = {
  descriptor: 'default',
  domain: 'shop',
  ruleId: 'api_key',
  above: '',
  ruleName: 'api_key',
  isPattern: false,
  timeZone: undefined,
  source: { kind: 'tier', id: 'pro' },
  limit: 5_000,
  used: 53,
  remaining: 4_947,
  windowMs: 60_000,
  unit: 'minute',
  windowStartMs: Date.parse('2025-01-15T10:30:00Z'),
  resetAtMs: Date.parse('2025-01-15T10:31:00Z'),
}

/** To ask the limiter is to count something. */
const uncounted = new Proxy({} as ReservingPort, {
  get: () => () => {
    throw new Error('the limiter was asked')
  },
})

async function start(usage: OwnUsage | undefined, isOn = true) {
  const nowMs = 1_000_000
  const throttle = new Throttle(new MemoryStore({ clock: { nowMs: () => nowMs } }))
  const ownUsage = isOn ? ownUsageRoute({ usage, throttle }) : undefined
  const server = checkServer(uncounted, { ownUsage })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => void server.close(() => resolve()))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/usage`
  return async (headers: Record<string, string> = {}) => {
    const response = await fetch(url, { headers })
    return { status: response.status, headers: response.headers, json: (await response.json()) as { code?: string } }
  }
}

const usage: OwnUsage = { usageOf: async (key) => (key === 'abc123' ? [LIMIT] : undefined) }

describe('GET /v1/usage', () => {
  it.each([[{ authorization: 'Bearer abc123' }], [{ 'x-api-key': 'abc123' }]])(
    'shows a customer what was used, and counts nothing: %j',
    async (headers: Record<string, string>) => {
      const ask = await start(usage)
      const answer = await ask(headers)
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
      expect(answer.json).toEqual({
        current_window: { start: '2025-01-15T10:30:00.000Z', end: '2025-01-15T10:31:00.000Z' },
        usage: { default: { used: 53, limit: 5000, remaining: 4947 } },
      })
    },
  )

  it.each([[{}], [{ 'x-api-key': 'other' }], [{ 'x-api-key': 'abc123', authorization: 'Bearer other' }]])(
    'is refused without a key that is in use, always alike: %j',
    async (headers: Record<string, string>) => {
      const ask = await start(usage)
      const answer = await ask(headers)
      expect([answer.status, answer.json]).toEqual([
        401,
        expect.objectContaining({
          code: 'API_KEY_REQUIRED',
          detail: expect.stringContaining('the key is missing, unknown or given more than once'),
        }),
      ])
    },
  )

  it('has its own limit, for keys that no one has as well', async () => {
    const ask = await start(usage)
    for (const key of ['abc123', 'made-up']) {
      const statuses: number[] = []
      for (let i = 0; i < 21; i++) statuses.push((await ask({ 'x-api-key': key })).status)
      expect(new Set(statuses.slice(0, 20))).toEqual(new Set([key === 'abc123' ? 200 : 401]))
      expect(statuses[20]).toBe(429)
    }
    expect((await ask({ 'x-api-key': 'abc123' })).headers.get('retry-after')).toBe('1')
  })

  it('is not there unless it is switched on', async () => {
    const ask = await start(usage, false)
    expect((await ask({ 'x-api-key': 'abc123' })).status).toBe(404)
  })

  it('says so where there is no database', async () => {
    const ask = await start(undefined)
    expect((await ask({ 'x-api-key': 'abc123' })).json.code).toBe('QUOTAS_UNAVAILABLE')
  })
})
