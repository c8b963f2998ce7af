import { readFileSync } from 'node:fs'
import { ERROR_RULES } from 'sluice/internal/core/error-rules'
import { describe, expect, it } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { readConfig } from './config.ts'
import { ENVOY_SETTINGS, UNREAD_VARIABLES } from './envoy-settings.ts'
import { variablesOf } from './setting-sources.ts'
import { SETTINGS } from './settings.ts'

/** Variables that take part in another setting, instead of being one. */
const READ_ELSEWHERE =
  /^(RUNTIME_|CONFIG_GRPC_XDS_SERVER_URL$|REDIS_(TYPE|SOCKET_TYPE|AUTH|TLS|SENTINEL_AUTH|TLS_SKIP_HOSTNAME_VERIFICATION)$)/

interface ReadThere {
  readonly reference: string
  readonly variables: readonly string[]
}

const readThere = JSON.parse(
  readFileSync(new URL('../../../../tests/fixtures/reference/variables.json', import.meta.url), 'utf8'),
) as ReadThere

describe('ENVOY_SETTINGS', () => {
  it('is what envoyproxy/ratelimit reads, no more and no less', () => {
    expect(ENVOY_SETTINGS.map(({ name }) => name).sort()).toEqual(readThere.variables)
  })

  it('has each variable once', () => {
    const names = ENVOY_SETTINGS.map(({ name }) => name)
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
  })

  it.each(ENVOY_SETTINGS.filter(({ status }) => status === 'same'))('$name sets something here', ({ name, sets }) => {
    expect(sets !== undefined || READ_ELSEWHERE.test(name)).toBe(true)
  })

  it.each(ENVOY_SETTINGS.filter(({ status }) => status !== 'same'))(
    '$name comes with a note',
    ({ note, sets, status }) => {
      expect(note).toMatch(/.{8,}/)
      if (status === 'absent') expect(sets).toBeUndefined()
    },
  )

  it('knows every setting of ours whose variable is not our own, but for that of every database', () => {
    const known = new Set([...ENVOY_SETTINGS.map(({ name }) => name), 'DATABASE_URL'])
    const ours = SETTINGS.map(({ env }) => env).filter((name) => !/^(SLUICE_|ADMIN_)/.test(name))
    expect(ours.filter((name) => !known.has(name))).toEqual([])
  })

  const refused = ENVOY_SETTINGS.filter(({ status }) => status === 'refused')

  it('refuses what would change the limits', () => {
    expect(refused.map(({ name }) => name)).toEqual(['CONFIG_TYPE', 'BACKEND_TYPE', 'QUOTA_MODE'])
  })

  it.each(refused)('$name is refused when it is set', ({ name, harmless, note }) => {
    expect(raisedBy(() => readConfig([], { [name]: 'something' }))).toBe(
      `VARIABLE_UNSUPPORTED: ${name}: got "something"; ${note}. ${ERROR_RULES.VARIABLE_UNSUPPORTED}`,
    )
    for (const value of harmless ?? []) expect(readConfig([], { [name]: value.toUpperCase() }).warnings).toEqual([])
  })

  it.each(ENVOY_SETTINGS.filter(({ status, harmless }) => status === 'absent' && harmless === undefined))(
    '$name is reported when it is set',
    ({ name }) => {
      expect(readConfig([], { [name]: '1' }).warnings).toEqual([
        `${name}: nothing to set here (docs/migrate-from-envoy-ratelimit.md)`,
      ])
    },
  )

  it.each(ENVOY_SETTINGS.filter(({ status, harmless }) => status === 'absent' && harmless !== undefined))(
    '$name is warned about when it is set',
    ({ name, harmless, note }) => {
      expect(readConfig([], { [name]: 'something' }).warnings).toEqual([`${name} is ignored: ${note}`])
      for (const value of harmless ?? []) expect(readConfig([], { [name]: value.toUpperCase() }).warnings).toEqual([])
    },
  )
})

describe('UNREAD_VARIABLES', () => {
  it('has none that envoyproxy/ratelimit reads, or that sets something here', () => {
    const known = new Set([...readThere.variables, ...SETTINGS.flatMap(({ flag }) => variablesOf(flag))])
    expect(UNREAD_VARIABLES.filter(({ name }) => known.has(name))).toEqual([])
  })

  it.each(UNREAD_VARIABLES)('$name changes nothing but the warnings', ({ name, instead }) => {
    const { warnings: usual, ...without } = readConfig([], {})
    for (const value of ['true', '7', 'x-header']) {
      const { warnings, ...config } = readConfig([], { [name]: value })
      expect(config).toEqual({ ...without, leaseSecret: expect.any(String) })
      expect(warnings).toEqual([...usual, `${name} is ignored, as envoyproxy/ratelimit ignores it; here: ${instead}`])
    }
  })
})
