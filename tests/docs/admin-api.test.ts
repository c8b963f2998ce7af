import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { AnyOperation } from '../../server/src/admin/api/operation.ts'
import { operationsOf } from '../../server/src/admin/operations.ts'

const page = readFileSync(new URL('../../docs/admin-api.md', import.meta.url), 'utf8')

/** What the page says about an operation. */
function rowOf({ method, path, role, ifMatch, isCreation, isPaged, kind, summary }: AnyOperation): string {
  const notes = [
    ifMatch === 'required' && 'If-Match',
    ifMatch === 'optional' && 'If-Match optional',
    isCreation && 'Idempotency-Key',
    isPaged && 'pages',
    kind === 'change' && 'dry_run',
  ]
  return `| \`${method} ${path}\` | ${role} | ${summary} | ${notes.filter(Boolean).join(', ')} |`
}

describe('docs/admin-api.md', () => {
  it('lists every operation of the table, and no other', () => {
    const listed = page.split('\n').filter((line) => /^\| `(GET|POST|PUT|PATCH|DELETE) \//.test(line))
    expect(listed).toEqual(operationsOf('0.0.0').map(rowOf))
  })
})
