import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { BELIEVED_FIELDS, BELIEVED_PREFIXES } from '../../server/src/edge/gateway/believed-fields.ts'

it('docs/gateway.md names the fields that are removed from clients, and no others', () => {
  const text = readFileSync(new URL('../../docs/gateway.md', import.meta.url), 'utf8')
  const [, section = ''] = /^### Fields that applications believe\n([\s\S]*?)\n## /m.exec(text) ?? []
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  const named = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => String(name).toLowerCase()))
  expect(named.sort()).toEqual([...BELIEVED_FIELDS, ...BELIEVED_PREFIXES.map((prefix) => `${prefix}*`)].sort())
})
