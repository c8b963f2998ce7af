import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTemporaryDir } from '../../../../tests/servers/reaper.mjs'
import { AdminTokens } from '../../admin/access/admin-tokens.ts'
import { AdminClock } from '../../admin/manual-parts.suite.ts'
import { makePglite, SLOW_MS } from '../../quotas/database/databases.suite.ts'
import { quotasOn } from '../../quotas/open/open-quotas.ts'
import { writeFirstToken } from './first-token-file.ts'

async function start() {
  const clock = new AdminClock()
  const { tokens: store } = await quotasOn(await (await makePglite()).open(), { now: clock.now })
  const dir = join(makeTemporaryDir('first-token'), 'data')
  return { clock, store, dir, file: join(dir, 'first-token') }
}

describe('the first token', { timeout: SLOW_MS }, () => {
  it('is an admin’s, in a file that only this user reads', async () => {
    const { store, clock, dir, file } = await start()
    expect(await writeFirstToken(store, file, clock.now())).toBe(true)
    const text = readFileSync(file, 'utf8')
    expect(text).toMatch(/^sluice_[\w-]{43}\n$/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    const identity = await new AdminTokens([], store, () => clock.now()).identify(text.trim())
    expect(identity).toMatchObject({ name: 'first start', role: 'admin' })
    expect(readdirSync(dir)).toEqual(['first-token'])
  })

  it('is made once, and the file of it is not written again', async () => {
    const { store, clock, file } = await start()
    await writeFirstToken(store, file, clock.now())
    const text = readFileSync(file, 'utf8')
    expect(await writeFirstToken(store, file, clock.now())).toBe(false)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('of a node that was slower than another leaves no file', async () => {
    const { store, clock, dir, file } = await start()
    store.hasAny = async () => false
    store.createFirst = async () => false
    expect(await writeFirstToken(store, file, clock.now())).toBe(false)
    expect(readdirSync(dir)).toEqual([])
  })

  it('that the database did not take leaves no file', async () => {
    const { store, clock, dir, file } = await start()
    store.createFirst = () => Promise.reject(new Error('away'))
    await expect(writeFirstToken(store, file, clock.now())).rejects.toThrow('away')
    expect(readdirSync(dir)).toEqual([])
  })

  it('that no file takes is not made', async () => {
    const { store, clock, dir } = await start()
    writeFileSync(dir, 'no directory')
    await expect(writeFirstToken(store, join(dir, 'first-token'), clock.now())).rejects.toMatchObject({
      code: 'EEXIST',
      syscall: 'mkdir',
    })
    expect(await store.list()).toEqual([])
  })
})
