import type { IncomingMessage } from 'node:http'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { Access } from './access.ts'
import type { AdminTokens } from './admin-tokens.ts'
import { Sessions } from './sessions.ts'
import { Throttle, Throttled } from './throttle.ts'

const BURST = 600

/** scene is an access with one good token, on a clock that stands still. */
function scene() {
  const clock = { ms: 1_780_000_000_000, nowMs: () => clock.ms }
  const sessions = new Sessions('s'.repeat(32), clock.nowMs)
  const identity = { id: 't1', name: 'ci', role: 'viewer', via: 'token' }
  const tokens = {
    identify: async (token: string) => (token === 'good' ? identity : undefined),
    again: async () => identity,
    wasGood: (token: string) => token === 'good',
    hasAny: async () => true,
  } as unknown as AdminTokens
  const access = new Access(tokens, sessions, new Throttle(new MemoryStore({ clock })))
  const cookie = `sluice_session=${sessions.begin('t1').value}`
  return { clock, access, cookie }
}

let addresses = 0
/** from is a request from an address that none before had. */
const from = (headers: Record<string, string>): IncomingMessage =>
  ({
    method: 'GET',
    headers,
    socket: { remoteAddress: `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses++ & 255}` },
  }) as unknown as IncomingMessage

describe('requests of one token', () => {
  it.each(['by a header', 'by a session'])('%s are bounded from however many addresses they come', async (how) => {
    const { clock, access, cookie } = scene()
    const ask = () => access.identify(from(how === 'by a header' ? { authorization: 'Bearer good' } : { cookie }))
    for (let i = 0; i < BURST; i++) expect(await ask()).toMatchObject({ id: 't1' })
    await expect(ask()).rejects.toThrow(Throttled)
    clock.ms += 20
    expect(await ask()).toMatchObject({ id: 't1' })
  })

  it('by a header and by a session are bounded together, each counted once', async () => {
    const { access, cookie } = scene()
    const both = [{ authorization: 'Bearer good' }, { cookie }]
    for (let i = 0; i < BURST; i++) await access.identify(from(both[i % 2]))
    for (const headers of both) await expect(access.identify(from(headers))).rejects.toThrow(Throttled)
  })
})

describe('requests of one address', () => {
  it('are bounded, except with a good token or session', () => {
    const { access, cookie } = scene()
    const socket = { remoteAddress: '10.9.9.9' }
    const count = (headers: Record<string, string>): void =>
      access.count({ headers, socket, method: 'GET' } as unknown as IncomingMessage)
    for (let i = 0; i < BURST; i++) count(i % 2 === 0 ? {} : { authorization: 'Bearer bad' })
    expect(() => count({})).toThrow(Throttled)
    expect(() => count({ cookie: 'sluice_session=x' })).toThrow(Throttled)
    for (let i = 0; i < 2 * BURST; i++) count(i % 2 === 0 ? { cookie } : { authorization: 'Bearer good' })
  })
})
