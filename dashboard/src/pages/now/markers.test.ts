import { expect, test } from 'vitest'
import type { MadeChange } from '../../api/operations.ts'
import { auditHref, markersOf } from './markers.ts'

const change = (kind: MadeChange['kind']): MadeChange => ({
  at: '2026-03-01T00:00:01Z',
  kind,
  text: `${kind} changed`,
  actor: 'ann',
})

test('rules, tiers and switches have a marker, with who changed them', () => {
  const markers = markersOf((['rules', 'tiers', 'switches', 'overrides', 'blocks', 'rule_files'] as const).map(change))
  expect(markers.map(({ text }) => text)).toEqual([
    'rules changed, by ann',
    'tiers changed, by ann',
    'switches changed, by ann',
    'rule_files changed',
  ])
  expect(markers[0].atMs).toBe(Date.UTC(2026, 2, 1, 0, 0, 1))
})

test('changes that were made through the API are found in the audit log', () => {
  expect([auditHref(change('tiers')), auditHref(change('rule_files'))]).toEqual(['/audit?kind=tiers', undefined])
})
