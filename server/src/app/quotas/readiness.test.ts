import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Readiness } from './readiness.ts'

const WAITING = 'the records of the database are not in force yet'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start(withinMs = 60_000) {
  const events: string[] = []
  const readiness = new Readiness(withinMs, {
    inForce: (revision) => events.push(`in force: ${revision}`),
    degraded: () => events.push('degraded'),
  })
  readiness.watch(({ unready, degraded }) => events.push(unready === '' ? `ready ${degraded}`.trim() : 'not ready'))
  return { readiness, events }
}

describe('Readiness', () => {
  it('waits until all processes have the records and the rules that were read first', () => {
    const { readiness, events } = start()
    readiness.has({ revision: 7, rules: 2 })
    readiness.read(7)
    readiness.has({ revision: 6, rules: 3 })
    readiness.rulesRead(3)
    expect([readiness.health, readiness.isInForce]).toEqual([{ unready: WAITING, degraded: '' }, false])
    readiness.has({ revision: 7, rules: 2 })
    expect(events).toEqual(['not ready'])
    readiness.has({ revision: 8, rules: 3 })
    expect(events).toEqual(['not ready', 'in force: 8', 'ready'])
    expect(readiness.isInForce).toBe(true)
  })

  it('asks nothing of what came after the start', () => {
    const { readiness, events } = start()
    readiness.read(0)
    readiness.rulesRead(0)
    readiness.read(9)
    readiness.rulesRead(9)
    readiness.has({ revision: -1, rules: 0 })
    expect(events).toEqual(['not ready'])
    readiness.has({ revision: 0, rules: 0 })
    readiness.has({ revision: -1, rules: 0 })
    expect(events).toEqual(['not ready', 'in force: 0', 'ready'])
  })

  it('is ready and degraded when time is over, until the records are in force', async () => {
    const { readiness, events } = start(60_000)
    vi.advanceTimersByTime(59_999)
    expect(events).toEqual(['not ready'])
    vi.advanceTimersByTime(1)
    await readiness.ready
    expect(events).toEqual(['not ready', 'degraded', `ready ${WAITING}`])
    readiness.read(1)
    readiness.rulesRead(0)
    readiness.has({ revision: 1, rules: 0 })
    expect(events.slice(3)).toEqual(['in force: 1', 'ready'])
  })

  it('is not degraded later, once it was in force', () => {
    const { readiness, events } = start(60_000)
    readiness.read(1)
    readiness.rulesRead(0)
    readiness.has({ revision: 1, rules: 0 })
    vi.advanceTimersByTime(60_000)
    expect(events).not.toContain('degraded')
  })
})
