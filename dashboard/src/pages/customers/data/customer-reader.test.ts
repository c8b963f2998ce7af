import { describe, expect, it } from 'vitest'
import type { CustomerParts } from '../../../api/operations.ts'
import { CustomerReader } from './customer-reader.ts'

const { signal } = new AbortController()

/** scene is a reader, a clock, and what the server answers with next. */
function scene() {
  const asked: string[] = []
  const clock = { ms: 0 }
  const answer: { included: Partial<CustomerParts> } = { included: {} }
  const reader = new CustomerReader(
    async (names) => {
      asked.push(names.join())
      const included = { problems: [], ...answer.included } as CustomerParts
      return { id: 'acme', included } as Awaited<ReturnType<CustomerReader['read']>>['customer']
    },
    () => clock.ms,
  )
  return { reader, asked, clock, answer }
}

describe('a customer', () => {
  it('is read whole at first and every 15 seconds, with one request each time', async () => {
    const { reader, asked, clock } = scene()
    for (const ms of [0, 3_000, 14_999, 15_000, 18_000]) {
      clock.ms = ms
      await reader.read(signal)
    }
    const whole = 'limits,refusals,keys,overrides,grants,blocks,usage,changes'
    expect(asked).toEqual([whole, 'limits,refusals', 'limits,refusals', whole, 'limits,refusals'])
  })

  it('keeps what was read before', async () => {
    const { reader, answer } = scene()
    answer.included = { limits: { limits: [], omitted: 0 }, grants: { items: [], has_more: true } }
    await reader.read(signal)
    answer.included = { limits: { limits: [], omitted: 7 } }
    const { parts } = await reader.read(signal)
    expect([parts.limits?.omitted, parts.grants?.has_more]).toEqual([7, true])
  })

  it('reports which part could not be read, and tries again with the next figures', async () => {
    const { reader, asked, answer, clock } = scene()
    answer.included = { problems: [{ part: 'usage', code: 'DATABASE_UNAVAILABLE', detail: 'away' }] }
    expect([...(await reader.read(signal)).problems.keys()]).toEqual(['usage'])
    answer.included = { problems: [{ part: 'limits', code: 'REDIS_UNREACHABLE', detail: 'away' }] }
    expect([...(await reader.read(signal)).problems.keys()]).toEqual(['limits'])
    answer.included = {}
    clock.ms = 3_000
    expect([...(await reader.read(signal)).problems.keys()]).toEqual([])
    expect(new Set(asked).size).toBe(1)
    await reader.read(signal)
    expect(asked.at(-1)).toBe('limits,refusals')
  })

  it('is read whole again after a change', async () => {
    const { reader, asked } = scene()
    await reader.read(signal)
    reader.forget()
    await reader.read(signal)
    expect(asked[1]).toBe(asked[0])
  })
})
