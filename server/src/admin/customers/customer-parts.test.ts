import { SluiceError } from 'sluice/internal/core/errors'
import { describe, expect, it } from 'vitest'
import { grant } from '../../quotas/book/records.suite.ts'
import { startAdmin } from '../admin-kit.suite.ts'

const LIMIT = { requests_per_unit: 5, unit: 'minute' }
const EVERYTHING = 'limits,keys,overrides,grants,blocks,refusals,usage,changes'

interface Included {
  readonly [part: string]: {
    readonly items: readonly Record<string, string | null>[]
    readonly has_more: boolean
    readonly refusals: unknown
  }
}

/** acme is a customer with a key, and an override and a block of each. */
async function acme() {
  const kit = await startAdmin()
  const { ask } = kit
  for (const id of ['acme', 'other']) {
    await ask('POST', 'customers', { body: { id } })
    const { json } = await ask('POST', `customers/${id}/keys`, { body: { key: `key-of-${id}` } })
    await ask('POST', `customers/${id}/overrides`, { body: LIMIT })
    await ask('POST', `customers/${id}/overrides`, { body: { ...LIMIT, api_key_id: json.id } })
    await ask('POST', `customers/${id}/grants`, { body: { amount: 9 } })
    await ask('POST', 'blocks', { body: { customer_id: id } })
    await ask('POST', 'blocks', { body: { api_key_id: json.id } })
  }
  const read = async (include: string) => (await ask('GET', `customers/acme?include=${include}`)).json.included
  return { ...kit, read: read as (include: string) => Promise<Included> }
}

describe('a customer and its parts', () => {
  it('are one answer, which has what is of its keys, too, and nothing of others', async () => {
    const { read, used, clock } = await acme()
    const todayMs = clock.ms - (clock.ms % 86_400_000)
    const row = { customerId: 'acme', limit: 'shop/user', allowed: 1, refused: 0, cost: 1 }
    await used(...[-1, 0, 29, 30].map((days) => ({ ...row, atMs: todayMs - days * 86_400_000 })))
    const all = await read(EVERYTHING)
    expect(Object.keys(all).sort()).toEqual([...EVERYTHING.split(','), 'problems'].sort())
    const subjects = (name: string) =>
      all[name].items.map(({ customer_id, api_key_id }) => customer_id ?? typeof api_key_id)
    expect([subjects('overrides').sort(), subjects('blocks').sort()]).toEqual([
      ['acme', 'string'],
      ['acme', 'string'],
    ])
    expect([all.keys, all.grants].map(({ items, has_more }) => [items.length, has_more])).toEqual([
      [1, false],
      [1, false],
    ])
    expect(all.usage.items.map(({ at }) => at?.slice(0, 10))).toEqual(['2026-01-31', '2026-03-01'])
    expect(all.refusals.refusals).toMatchObject([{ customer_id: 'acme' }])
    expect(all.limits).toEqual({ limits: [], omitted: 0 })
    expect(all.changes.items[0]).toMatchObject({ action: 'blocks.put', customer_id: 'acme' })
    expect(all.problems).toEqual([])
  })

  it('are only the parts that are asked for, and none without the parameter', async () => {
    const { read, ask } = await acme()
    expect(Object.keys(await read('grants,keys,grants')).sort()).toEqual(['grants', 'keys', 'problems'])
    const plain = await ask('GET', 'customers/acme')
    expect([plain.headers.get('etag'), plain.json.included]).toEqual(['"1"', undefined])
  })

  it('say of a list that it goes on', async () => {
    const { read, quotas } = await acme()
    const by = { id: 't', name: 't', address: undefined, reason: undefined }
    const more = Array.from({ length: 500 }, (_, i) => grant(`g${i}`, 'acme', 1))
    await quotas.changeAll(
      more.map((record) => ({ table: 'grants', id: record.id, record })),
      by,
    )
    const { grants } = await read('grants')
    expect([grants.items.length, grants.has_more]).toEqual([500, true])
  })

  it('are there without the one that cannot be read', async () => {
    const { read, counters } = await acme()
    counters.limitsOf = () => Promise.reject(new SluiceError('REDIS_UNREACHABLE', 'redis', 'away'))
    const found = await read('limits,keys')
    expect(found.keys.items).toHaveLength(1)
    expect(found.problems).toMatchObject([{ part: 'limits', code: 'REDIS_UNREACHABLE' }])
    expect(found.limits).toBeUndefined()
  })

  it.each(['', 'limit', 'limits,', '__proto__', 'problems'])('are refused by the name %j', async (include) => {
    const { ask } = await acme()
    const { status, json } = await ask('GET', `customers/acme?include=${include}`)
    expect([status, json.code]).toEqual([400, 'ADMIN_REQUEST_INVALID'])
  })

  it('of an unknown customer are none', async () => {
    const { ask } = await acme()
    expect((await ask('GET', `customers/nobody?include=${EVERYTHING}`)).json.code).toBe('RECORD_UNKNOWN')
  })
})
