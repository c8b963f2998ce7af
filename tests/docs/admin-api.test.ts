import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { startAdmin } from '../../server/src/edge/admin/admin-kit.suite.ts'
import type { AnyOperation } from '../../server/src/edge/admin/api/operation.ts'
import { operationsOf } from '../../server/src/edge/admin/operations/operations.ts'

const page = readFileSync(new URL('../../docs/admin-api.md', import.meta.url), 'utf8')

/** rowOf is what the page says about an operation. */
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

interface Example {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly headers: Record<string, string>
}

/** exampleOf reads a curl command of the page. */
function exampleOf(command: string): Example {
  const [, address = ''] = /(\S*\/admin\/v1\/\S*?)'?(?:\s|$)/.exec(command) ?? []
  const [, given] = /-X (\w+)/.exec(command) ?? []
  const [, data] = /(?:-d|--json) '([^']*)'/.exec(command) ?? []
  const headers = [...command.matchAll(/-H '([^:']+): ([^']*)'/g)].map(([, name, value]) => [name.toLowerCase(), value])
  const path = address.slice(address.indexOf('/admin/v1/'))
  return {
    method: given ?? (data ? 'POST' : 'GET'),
    path,
    body: data && JSON.parse(data),
    headers: Object.fromEntries(headers),
  }
}

describe('docs/admin-api.md', () => {
  it('lists every operation of the table, and no other', () => {
    const listed = page.split('\n').filter((line) => /^\| `(GET|POST|PUT|PATCH|DELETE) \//.test(line))
    expect(listed).toEqual(operationsOf('0.0.0').map(rowOf))
  })

  it('has examples that are answered as it says', async () => {
    const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text)
    const commands = blocks
      .flatMap((text) => text.replaceAll('\\\n', ' ').split('\n'))
      .filter((line) => line.startsWith('curl'))
    expect(commands.length).toBeGreaterThan(5)
    const { ask } = await startAdmin()
    for (const command of commands) {
      const { method, path, body, headers } = exampleOf(command)
      const { authorization: _, ...others } = headers
      const answer = await ask(method, path, { headers: others, ...(body !== undefined && { body }) })
      expect(answer.status, `${command}\n${answer.text}`).toBe(Number(/# → (\d{3})/.exec(command)?.[1] ?? 200))
    }
  })
})
