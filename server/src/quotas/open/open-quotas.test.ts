import { describe, expect, it } from 'vitest'
import { freePort } from '../../../../tests/servers/ports.mjs'
import { sharedPostgres } from '../../../../tests/servers/shared.ts'
import { keepOpening, openQuotas } from './open-quotas.ts'

describe('quotas', () => {
  it('are opened when the database is there, however long that takes', async () => {
    const server = await sharedPostgres()
    const there = server.url(await server.createDatabase())
    const away = `postgres://u:s3cret@127.0.0.1:${await freePort()}/x`
    const faults: string[] = []
    const quotas = await keepOpening(() => openQuotas({ url: faults.length < 2 ? away : there }), {
      failed: (error) => faults.push(String(error)),
    })
    expect(await quotas?.store.snapshot()).toMatchObject({ revision: 0, customers: [] })
    await quotas?.close()
    expect(faults).toHaveLength(2)
    expect(faults[0]).toMatch(/^SluiceError: DATABASE_UNAVAILABLE: postgres:\/\/127/)
    expect(faults.join()).not.toContain('s3cret')
  })

  it('that must exist are not created by commands that only read them', async () => {
    const server = await sharedPostgres()
    const name = await server.createDatabase()
    const place = { url: server.url(name) }
    const schemas = "SELECT FROM pg_namespace WHERE nspname = 'sluice'"
    const looked = openQuotas(place, { secret: 'that of the command line', isThere: true })
    await expect(looked).rejects.toMatchObject({ code: 'DATABASE_EMPTY' })
    expect(await server.run(schemas, { database: name })).toEqual([])
    await (await openQuotas(place, { secret: 'that of the nodes' })).close()
    const there = await openQuotas(place, { secret: 'that of the nodes', isThere: true })
    expect(await there.verifyAudit()).toMatchObject({ problems: [] })
    await there.close()
  })

  it('are not waited for after the end', async () => {
    const end = new AbortController()
    const opening = keepOpening(() => Promise.reject(new Error('away')), {
      failed: () => end.abort(),
      signal: end.signal,
    })
    expect(await opening).toBeUndefined()
  })

  it('are given up where that was said', async () => {
    const opening = keepOpening(() => Promise.reject(new Error('newer')), {
      failed(error) {
        throw error
      },
    })
    await expect(opening).rejects.toThrow('newer')
  })
})
