import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ENVOY_SETTINGS, type EnvoySetting } from '../../server/src/app/settings/envoy-settings.ts'

const page = readFileSync(new URL('../../docs/migrate-from-envoy-ratelimit.md', import.meta.url), 'utf8')
const rows = page.split('\n').filter((line) => /^\| `[A-Z0-9_]+` \|/.test(line))

const rowOf = ({ name, status, meaning, note, sets }: EnvoySetting): string =>
  `| \`${name}\` | ${status} | ${meaning} | ${note ?? (sets === undefined ? '' : `\`--${sets}\``)} |`

describe('docs/migrate-from-envoy-ratelimit.md', () => {
  it('lists every variable of envoyproxy/ratelimit, as the loader treats it', () => {
    expect(rows).toEqual(ENVOY_SETTINGS.map(rowOf))
  })
})
