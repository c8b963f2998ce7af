import { SluiceError } from 'sluice/internal/core/errors'
import { describe, expect, it } from 'vitest'
import type { AdminToken } from '../../admin/tokens/table.ts'
import { KnownTokens } from './known-tokens.ts'

const MINUTE_MS = 60_000
const AWAY = new SluiceError('DATABASE_UNAVAILABLE', 'database', 'away')

function scene() {
  const clock = { ms: 1_000_000 }
  const known = new KnownTokens(() => clock.ms)
  const token = { id: 't' } as AdminToken
  const finds = (found?: AdminToken) => known.through('t', async () => found)
  const fails = (error: unknown = AWAY) => known.through('t', () => Promise.reject(error))
  return { clock, known, token, finds, fails }
}

describe('a token that was found', () => {
  it('is good for ten minutes more while the database is unavailable', async () => {
    const { clock, token, finds, fails } = scene()
    await finds(token)
    clock.ms += 10 * MINUTE_MS
    expect(await fails()).toBe(token)
    clock.ms += 1
    await expect(fails()).rejects.toBe(AWAY)
    clock.ms += MINUTE_MS
    await expect(fails()).rejects.toBe(AWAY)
  })

  it('is good for longer each time that it is found, and not because it was looked for', async () => {
    const { clock, token, finds, fails } = scene()
    await finds(token)
    clock.ms += 6 * MINUTE_MS
    await fails()
    clock.ms += 3 * MINUTE_MS
    await finds(token)
    clock.ms += 6 * MINUTE_MS
    expect(await fails()).toBe(token)
    clock.ms += 5 * MINUTE_MS
    await expect(fails()).rejects.toBe(AWAY)
  })

  it('is not known any more once it was not found, or all were forgotten', async () => {
    const { known, token, finds, fails } = scene()
    await finds(token)
    await finds(undefined)
    await expect(fails()).rejects.toBe(AWAY)
    await finds(token)
    known.clear()
    await expect(fails()).rejects.toBe(AWAY)
  })

  it('replaces no other errors than that the database is unavailable', async () => {
    const { token, finds, fails } = scene()
    await finds(token)
    const [failed, bug] = [new SluiceError('DATABASE_FAILED', 'database', 'no'), new TypeError('bug')]
    await expect(fails(failed)).rejects.toBe(failed)
    await expect(fails(bug)).rejects.toBe(bug)
  })

  it('makes room when a thousand others were found since', async () => {
    const { known, token, finds, fails } = scene()
    await finds(token)
    for (let i = 1; i < 1_000; i++) await known.through(`other ${i}`, async () => token)
    expect(await fails()).toBe(token)
    await known.through('other', async () => token)
    await expect(fails()).rejects.toBe(AWAY)
  })
})
