import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ENVOY_SETTINGS, type EnvoySetting, UNREAD_VARIABLES } from '../../server/src/app/settings/envoy-settings.ts'
import { DIFFERENCES } from '../rls/reference-differences.ts'
import { FILE_DIFFERENCES } from '../rls/reference-files.ts'

const page = readFileSync(new URL('../../docs/migrate-from-envoy-ratelimit.md', import.meta.url), 'utf8')

const rowOf = ({ name, status, meaning, note, sets }: EnvoySetting): string =>
  `| \`${name}\` | ${status} | ${meaning} | ${note ?? (sets === undefined ? '' : `\`--${sets}\``)} |`

/** Returns the rows of the table with this head. */
function tableBelow(head: string): string[] {
  const lines = page.split('\n')
  if (!lines.includes(head)) throw new Error(`no table below ${head}`)
  const first = lines.indexOf(head) + 2
  const end = lines.indexOf('', first)
  return lines.slice(first, end)
}

describe('docs/migrate-from-envoy-ratelimit.md', () => {
  it('lists every variable of envoyproxy/ratelimit, as the loader treats it', () => {
    expect(tableBelow('| variable | | what it means there | here |')).toEqual(ENVOY_SETTINGS.map(rowOf))
  })

  it('lists every variable that it does not read, and what to use instead', () => {
    expect(tableBelow('| not read there | here |')).toEqual(
      UNREAD_VARIABLES.map(({ name, instead }) => `| \`${name}\` | ${instead} |`),
    )
  })

  it('lists every answer that differs on purpose, as the comparison with its answers does', () => {
    expect(tableBelow('| there | here | why |')).toEqual(
      DIFFERENCES.map(({ there, here, reason }) => `| ${there} | ${here} | ${reason} |`),
    )
  })

  it('lists every rule file that only one of the two reads', () => {
    const encoded = { read: 'read | refused', refused: 'refused | read' }
    expect(tableBelow('| | there | here | why |')).toEqual(
      FILE_DIFFERENCES.map(({ what, there, reason }) => `| ${what} | ${encoded[there]} | ${reason} |`),
    )
  })
})
