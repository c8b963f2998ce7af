import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { ENVOY_SETTINGS } from '../../server/src/app/settings/envoy-settings.ts'
import { rulePlaces } from '../../server/src/app/settings/remote-rules.ts'
import { variablesOf } from '../../server/src/app/settings/setting-sources.ts'
import { SETTINGS } from '../../server/src/app/settings/settings.ts'

const docs = new URL('../../docs/', import.meta.url)
const page = readFileSync(new URL('rules-sources.md', docs), 'utf8')

/** The lines of the page that start a service: [variables, arguments]. */
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)]
  .flatMap(([, text]) => text.replaceAll('\\\n', ' ').trim().split('\n'))
  .filter((line) => line.includes('sluice serve'))
  .map((line) => {
    const [before, after] = line.split('sluice serve')
    const env = before.split(' ').filter((word) => word !== '')
    return {
      line,
      env: Object.fromEntries(env.map((pair) => pair.split('=') as [string, string])),
      args: after.split(' ').filter((word) => word !== ''),
    }
  })

describe('docs/rules-sources.md', () => {
  it.each(commands)('shows a command that the service takes: $line', ({ env, args }) => {
    const config = readConfig(args, env)
    expect(rulePlaces(config)).not.toEqual([])
    expect(config.warnings).toEqual([])
  })

  it('shows the same control plane in our words and in envoyproxy/ratelimit’s', () => {
    const [ours, theirs] = commands.slice(-2).map(({ args, env }) => readConfig(args, env).remoteRules.xds)
    expect({ ...ours, isTls: false }).toEqual(theirs)
  })

  it('names flags, variables and pages that there are', () => {
    const flags = [...page.matchAll(/--([a-z][a-z-]*)/g)].map(([, flag]) => flag)
    expect(flags.filter((flag) => !SETTINGS.some((setting) => setting.flag === flag))).toEqual([])
    const known = new Set([
      ...SETTINGS.flatMap(({ flag }) => variablesOf(flag)),
      ...ENVOY_SETTINGS.map(({ name }) => name),
    ])
    const variables = [...page.matchAll(/`((?:SLUICE|CONFIG|FORCE|HEALTHY|RUNTIME)_[A-Z_]+)/g)].map(([, name]) => name)
    expect(variables.length).toBeGreaterThan(3)
    expect(variables.filter((name) => !known.has(name))).toEqual([])
    for (const [, path] of page.matchAll(/\]\(([a-z-]+\.md)/g)) expect(existsSync(new URL(path, docs)), path).toBe(true)
  })
})
