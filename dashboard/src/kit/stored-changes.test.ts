import { expect, it } from 'vitest'
import { fullTime } from '../format/time.ts'
import { storedChanges } from './stored-changes.ts'

it('a change is what differs, with times as times, and without what every record has', () => {
  const before = { id: 'x', tier: 'free', version: 1, updatedAtMs: 1, expiresAtMs: 1_794_804_454_407 }
  const after = { id: 'x', tier: 'pro', version: 2, updatedAtMs: 2, periodAnchor: '<b>' }
  expect(storedChanges(before, after)).toEqual([
    { field: 'tier', was: 'free', will: 'pro' },
    { field: 'expires at', was: fullTime(1_794_804_454_407), will: '' },
    { field: 'period anchor', was: '', will: '<b>' },
  ])
})

it('names are words', () => {
  expect(storedChanges({ requestsPerUnit: 5 }, { requestsPerUnit: 7 })).toEqual([
    { field: 'requests per unit', was: '5', will: '7' },
  ])
})
