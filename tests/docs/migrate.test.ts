import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ENVOY_SETTINGS, type EnvoySetting } from '../../server/src/app/settings/envoy-settings.ts'
import { DIFFERENCES } from '../rls/reference-differences.ts'
import { FILE_DIFFERENCES } from '../rls/reference-files.ts'

const page = readFileSync(new URL('../../docs/migrate-from-envoy-ratelimit.md', import.meta.url), 'utf8')
const rows = page.split('\n').filter((line) => /^\| `[A-Z0-9_]+` \|/.test(line))

const rowOf = ({ name, status, meaning, note, sets }: EnvoySetting): string =>
  `| \`${name}\` | ${status} | ${meaning} | ${note ?? (sets === undefined ? '' : `\`--${sets}\``)} |`

/** tableBelow returns the rows of the table with this head. */
function tableBelow(head: string): string[] {
  const lines = page.split('\n')
  const first = lines.indexOf(head) + 2
  return lines.slice(first, lines.indexOf('', first))
}

describe('docs/migrate-from-envoy-ratelimit.md', () => {
  it('lists every variable of envoyproxy/ratelimit, as the loader treats it', () => {
    expect(rows).toEqual(ENVOY_SETTINGS.map(rowOf))
  })

  it('lists every answer that differs on purpose, as the comparison with its answers does', () => {
    expect(tableBelow('| there | here | why |')).toEqual(
      DIFFERENCES.map(({ there, here, reason }) => `| ${there} | ${here} | ${reason} |`),
    )
  })

  it('lists every rule file that only one of the two reads', () => {
    const spelled = { read: 'read | refused', refused: 'refused | read' }
    expect(tableBelow('| | there | here | why |')).toEqual(
      FILE_DIFFERENCES.map(({ what, there, reason }) => `| ${what} | ${spelled[there]} | ${reason} |`),
    )
  })
})
