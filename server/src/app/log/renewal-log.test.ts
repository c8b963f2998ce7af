import { describe, expect, it } from 'vitest'
import { logTo } from './log.ts'
import { renewalLog } from './renewal-log.ts'

describe('the log of renewals', () => {
  it('logs once that permits cannot be renewed, and once that they can', () => {
    const lines: string[] = []
    const told = renewalLog(logTo(({ level, event }) => void lines.push(`${level} ${event}`)))
    told.renewed('held', 3)
    for (let i = 0; i < 5; i++) told.renewed('missed', 3)
    expect(lines).toEqual(['warn places.missed'])
    told.renewed('retaken', 3)
    told.renewed('held', 3)
    expect(lines).toEqual(['warn places.missed', 'info places.renewed'])
  })
})
