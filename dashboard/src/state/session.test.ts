import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findSession, logIn, session } from './session.ts'

const WHO = { id: 't', name: 'first start', role: 'admin', via: 'session', expires_at: null }
const STARTING = { code: 'DATABASE_UNAVAILABLE', detail: 'database: it was not opened yet' }

/** answers has fetch answer one after the other, and the last for ever. 0: it cannot be reached. */
function answers(...list: readonly (readonly [status: number, body: object])[]) {
  const left = [...list]
  const asked = vi.fn(async () => {
    const [status, body] = (left.length > 1 ? left.shift() : left[0]) as (typeof list)[number]
    if (status === 0) throw new TypeError('failed to fetch')
    return Response.json(body, { status })
  })
  vi.stubGlobal('fetch', asked)
  return asked
}

beforeEach(() => {
  vi.useFakeTimers()
  session.value = { kind: 'looking' }
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('findSession', () => {
  it.each([
    [200, WHO, 'open'],
    [401, { code: 'ADMIN_TOKEN_REQUIRED' }, 'none'],
    [503, STARTING, 'starting'],
    [0, {}, 'unreachable'],
    [500, {}, 'unreachable'],
  ] as const)('an answer %i is the state of the page', async (status, body, kind) => {
    answers([status, body])
    await findSession()
    expect(session.value.kind).toBe(kind)
  })

  it('follows the server while no one is logged in', async () => {
    answers([0, {}], [503, STARTING], [0, {}], [200, WHO])
    const seen: string[] = []
    for (let i = 0; i < 4; i++) {
      await findSession()
      seen.push(session.value.kind)
    }
    expect(seen).toEqual(['unreachable', 'starting', 'unreachable', 'open'])
  })

  it('logs no one out because the server is unavailable', async () => {
    answers([200, WHO], [503, STARTING])
    await findSession()
    await findSession()
    expect(session.value.kind).toBe('open')
  })
})

describe('logIn', () => {
  it('waits for the database, and then logs in', async () => {
    const asked = answers([503, STARTING], [503, STARTING], [200, WHO])
    const waiting = vi.fn()
    const done = logIn('sluice_x', waiting)
    await vi.runAllTimersAsync()
    await done
    expect([session.value.kind, asked.mock.calls.length, waiting.mock.calls.length]).toEqual(['open', 3, 2])
  })

  it('does not repeat a token that is wrong', async () => {
    const asked = answers([401, { code: 'ADMIN_TOKEN_REQUIRED' }])
    await expect(logIn('x')).rejects.toMatchObject({ status: 401 })
    expect(asked).toHaveBeenCalledTimes(1)
  })

  it('gives up after a minute', async () => {
    const asked = answers([503, STARTING])
    const done = expect(logIn('x')).rejects.toMatchObject({ status: 503 })
    await vi.runAllTimersAsync()
    await done
    expect(asked).toHaveBeenCalledTimes(60)
  })
})
