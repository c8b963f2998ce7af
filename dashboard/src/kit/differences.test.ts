import { expect, it } from 'vitest'
import { differences } from './differences.ts'

it('what differs is a field each, without what every record has', () => {
  expect(differences({ id: 'a', tier: 'free', version: 1 }, { id: 'a', tier: 'pro', version: 2 })).toEqual([
    { field: 'tier', was: 'free', will: 'pro' },
  ])
})

it('a new record has only what will be, and one that goes only what was', () => {
  expect(differences(null, { tier: 'pro', note: null })).toEqual([{ field: 'tier', was: '', will: 'pro' }])
  expect(differences({ tier: 'pro' }, undefined)).toEqual([{ field: 'tier', was: 'pro', will: '' }])
})

it('lists of words and rules are shown without signs, and other values as JSON', () => {
  const values = {
    events: ['a', 'b'],
    thresholds: [80, 100],
    rule: { domain: 'edge', id: 'ip' },
    metadata: { plan: 'x' },
  }
  expect(differences(undefined, values).map(({ will }) => will)).toEqual(['a, b', '80, 100', 'edge/ip', '{"plan":"x"}'])
  const lists = differences({ events: ['a, b'] }, { events: ['a', 'b'] })
  expect(lists).toEqual([{ field: 'events', was: 'a, b', will: 'a, b' }])
})

it('a value that is no record is one field', () => {
  expect([differences(1, [2]), differences('a', 'a')]).toEqual([[{ field: 'value', was: '1', will: '[2]' }], []])
})
