import { describe, expect, it } from 'vitest'
import type { AuditEntry, AuditLog, AuditQuery } from '../../quotas/audit/audit-log.ts'
import { ofCustomer, ofKey, override } from '../../quotas/book/records.suite.ts'
import { MadeChanges } from './made-changes.ts'

const BY = { id: 't1', name: 'Ann', address: undefined, reason: undefined }

function entry(kind: string, id: string, before: unknown, after: unknown, customerId?: string): AuditEntry {
  const action = `${kind}.${after === undefined ? 'remove' : 'put'}`
  return { sequence: 1, atMs: 1_000, actor: BY, action, target: { kind, id }, customerId, before, after, hash: '' }
}

function auditOf(...items: AuditEntry[]) {
  const asked: AuditQuery[] = []
  const audit: Pick<AuditLog, 'list'> = {
    list: async (query) => {
      asked.push(query)
      return { items, next: undefined }
    },
  }
  return { audit, asked }
}

describe('changes that were made', () => {
  it.each<[text: string, entry: AuditEntry]>([
    ['rules: version 7', entry('rules', 'active', undefined, { version: 7 })],
    ['tier shop/pro made', entry('tiers', 'shop/pro', undefined, {})],
    ['tier shop/pro changed', entry('tiers', 'shop/pro', {}, {})],
    ['tier shop/pro removed', entry('tiers', 'shop/pro', {}, undefined)],
    ['shop/user: shadow', entry('switches', 'shop/user', undefined, { mode: 'shadow' })],
    ['every rule: off', entry('switches', '*', undefined, { mode: 'off' })],
    ['shop/user: switch removed', entry('switches', 'shop/user', { mode: 'off' }, undefined)],
    [
      'override of acme: 9 per minute',
      entry('overrides', 'o', undefined, override('o', ofCustomer('acme'), 9), 'acme'),
    ],
    [
      'override of key k1 of acme removed: 9 per minute',
      entry('overrides', 'o', override('o', ofKey('k1'), 9), undefined, 'acme'),
    ],
    ['blocked acme', entry('blocks', 'b', undefined, { subject: ofCustomer('acme') }, 'acme')],
    ['unblocked 10.0.0.0/8', entry('blocks', 'b', { subject: { kind: 'cidr', cidr: '10.0.0.0/8' } }, undefined)],
    ['blocked no one', entry('blocks', 'b', undefined, 'text that another program put there')],
  ])('read as: %s', async (text, each) => {
    const changes = new MadeChanges({ audit: auditOf(each).audit, files: () => [] })
    expect(await changes.since(0, 500)).toEqual([{ atMs: 1_000, kind: each.target.kind, text, actor: 'Ann' }])
  })

  it('come from the audit log and from rule files, the newest first, and no more than were asked for', async () => {
    const { audit, asked } = auditOf(entry('tiers', 'shop/pro', undefined, {}))
    const names = Array.from({ length: 7 }, (_, i) => `${i}.yaml`)
    const files = () => [
      { atMs: 2_000, files: ['shop.yaml'] },
      { atMs: 900, files: names },
      { atMs: 499, files: ['old.yaml'] },
    ]
    const changes = new MadeChanges({ audit, files })
    expect((await changes.since(500, 500)).map(({ text }) => text)).toEqual([
      'rule files: shop.yaml',
      'tier shop/pro made',
      'rule files: 0.yaml, 1.yaml, 2.yaml, 3.yaml, 4.yaml and 2 more',
    ])
    expect(await changes.since(500, 1)).toEqual([
      { atMs: 2_000, kind: 'rule_files', text: 'rule files: shop.yaml', actor: 'rule files' },
    ])
    expect(asked[0]).toMatchObject({ fromMs: 500, kinds: ['rules', 'tiers', 'switches', 'overrides', 'blocks'] })
  })

  it('are changes of rule files where there is no database', async () => {
    const changes = new MadeChanges({ audit: undefined, files: () => [{ atMs: 1, files: ['a.yaml'] }] })
    expect(await changes.since(0, 500)).toHaveLength(1)
  })
})
