import { expect, it, vi } from 'vitest'
import { customer, meter } from '../ledger.suite.ts'
import { LateJobs } from './late-jobs.ts'
import { MemoryPort } from './memory-port.suite.ts'

const NOW_MS = Date.UTC(2026, 2, 10)
const event = (id: string, amount = 1) =>
  ({ customer: 'acme', meter: 'exports', operation: { kind: 'event', id, amount } }) as const

function scene() {
  const port = new MemoryPort([meter('exports', { allowance: 1_000_000 })], [customer('acme')], () => NOW_MS)
  const dropped: string[] = []
  const jobs = new LateJobs(port, { dropped: ({ operation }) => dropped.push('id' in operation ? operation.id : '') })
  return { port, jobs, dropped }
}

it('asks again until the ledger answers, and keeps the order of an account', async () => {
  vi.useFakeTimers()
  const { port, jobs } = scene()
  port.isAway = true
  await jobs.do(event('a'))
  port.isAway = false
  // It waits behind the one before it.
  expect(await jobs.do(event('b'))).toBeUndefined()
  expect(jobs.size).toBe(2)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(jobs.size).toBe(0)
  expect(port.account('acme', 'exports').entries.map(({ id }) => id)).toEqual([undefined, 'a', 'b'])
  vi.useRealTimers()
})

it('asks for a few of many where the ledger does not answer, and for all when it does', async () => {
  vi.useFakeTimers()
  const { port, jobs } = scene()
  port.isAway = true
  for (let i = 0; i < 2_000; i++) await jobs.do(event(`e${i}`))
  const before = port.asked.length
  await vi.advanceTimersByTimeAsync(1_000)
  expect(port.asked.length - before).toBeLessThanOrEqual(500)
  port.isAway = false
  await vi.advanceTimersByTimeAsync(1_000)
  expect([jobs.size, (await port.look('acme', 'exports')).available.allowance]).toEqual([0, 998_000])
  vi.useRealTimers()
})

it('gives up the oldest where too many wait', async () => {
  vi.useFakeTimers()
  const { port, jobs, dropped } = scene()
  port.isAway = true
  for (let i = 0; i < 50_003; i++) await jobs.do(event(`e${i}`))
  expect([jobs.size, dropped]).toEqual([50_000, ['e0', 'e1', 'e2']])
  vi.useRealTimers()
})
