import { expect, it } from 'vitest'
import type { AuditEntry } from '../api/operations.ts'
import { authorsOf } from './authors.ts'

it('who changed a record last is the first of its entries', () => {
  const of = (id: string, name: string): AuditEntry => ({
    ...{ sequence: 1, at: '2026-01-01T00:00:00Z', actor: { id: name, name, address: null }, reason: null, hash: '' },
    ...{ action: 'overrides.put', target: { kind: 'overrides', id }, customer_id: null, before: null, after: {} },
  })
  const authors = authorsOf([of('o1', 'kim'), of('*', 'lee'), of('o1', 'max')])
  expect([authors.get('o1')?.name, authors.get('*')?.name, authors.get('o3')]).toEqual(['kim', 'lee', undefined])
})
