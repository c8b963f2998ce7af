import { AsyncResource } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { quotasOn } from '../open/open-quotas.ts'
import type { WholeDatabase } from './database.ts'
import { SLOW_MS, testDatabases } from './databases.suite.ts'

describe.each(testDatabases)('several transactions that are one, on %s', { timeout: SLOW_MS }, (_, make) => {
  async function open() {
    const place = await make()
    const db = (await quotasOn(await place.open())).db as WholeDatabase
    await db.query('CREATE TABLE things (name text PRIMARY KEY)')
    const put = (name: string) => db.transaction((tx) => tx.query('INSERT INTO things VALUES ($1)', [name]))
    const names = async () =>
      (await db.query<{ name: string }>('SELECT name FROM things ORDER BY name')).map(({ name }) => name)
    return { db, put, names }
  }

  it('are all committed', async () => {
    const { db, put, names } = await open()
    const seen = await db.atomically(async () => {
      await put('a')
      await db.query('INSERT INTO things VALUES ($1)', ['b'])
      return names()
    })
    expect([seen, await names()]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
  })

  it('are all rolled back', async () => {
    const { db, put, names } = await open()
    const broken = db.atomically(async () => {
      await put('a')
      throw new Error('broken')
    })
    await expect(broken).rejects.toThrow('broken')
    expect(await names()).toEqual([])
  })

  it('go on without a part that failed', async () => {
    const { db, put, names } = await open()
    await db.atomically(async () => {
      await put('a')
      await expect(put('a')).rejects.toThrow()
      await put('b')
    })
    expect(await names()).toEqual(['a', 'b'])
  })

  it('leave what waits for the commit until it, and forget it where there is none', async () => {
    const { db, put, names } = await open()
    const seen: string[] = []
    db.afterCommit(() => void seen.push('alone'))
    await db.atomically(async () => {
      await put('a')
      db.afterCommit(() => void seen.push('after'))
      seen.push('within')
    })
    expect(seen).toEqual(['alone', 'within', 'after'])
    const broken = db.atomically(async () => {
      db.afterCommit(() => void seen.push('never'))
      throw new Error('broken')
    })
    await expect(broken).rejects.toThrow('broken')
    expect([seen.length, await names()]).toEqual([3, ['a']])
  })

  it('are not joined by what was begun within and runs after', async () => {
    const { db, put, names } = await open()
    let late: (() => Promise<unknown>) | undefined
    await db.atomically(async () => {
      await put('a')
      const kept = AsyncResource.bind(() => put('b'))
      late = async () => kept()
    })
    await late?.()
    expect(await names()).toEqual(['a', 'b'])
  })
})
