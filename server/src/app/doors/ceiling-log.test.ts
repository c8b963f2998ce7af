import { compileLimit } from 'sluice/internal/core/limit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { logTo } from '../log/log.ts'
import { CeilingLog } from './ceiling-log.ts'

afterEach(() => void vi.useRealTimers())

describe('CeilingLog', () => {
  it('writes the first refusal immediately, then how many there were, once a minute', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const lines: string[] = []
    const log = new CeilingLog(
      logTo(({ message }) => lines.push(message)),
      false,
    )
    const hit = { scope: 'per_ip', limit: compileLimit({ limit: 9, window: '1s' }), retryAfterMs: 1 } as const
    for (let i = 0; i < 1_000; i++) log.hit(hit, `192.0.2.${i % 3}`)
    expect(lines).toEqual([expect.stringContaining('refused 1 request: 192.0.2.0 sends more than 9/1s')])
    vi.advanceTimersByTime(60_000)
    expect(lines.slice(1)).toEqual([expect.stringContaining('refused 999 requests: 192.0.2.1 sends more than')])
    vi.advanceTimersByTime(600_000)
    expect(lines).toHaveLength(2)
    log.hit({ ...hit, scope: 'requests' }, '192.0.2.7')
    expect(lines.at(-1)).toContain('all clients together send more than 9/1s')
    log.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
})
