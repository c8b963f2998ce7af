import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { loadScript, type ScriptName } from './scripts.ts'

const FOLDER = new URL('./lua/', import.meta.url)
const SCRIPTS = [
  'count',
  'decide',
  'decide-node',
  'exchange',
  'release',
  'renew',
  'replace',
  'reset',
  'sample',
  'throttle',
] as const
const fileOf = (name: string): string => readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8')

const includesOf = (name: string): string[] =>
  [...fileOf(name).matchAll(/^--- @include "(.*)"$/gm)].flatMap(([, included]) => [included, ...includesOf(included)])

/** The lines of a file that a server is to run. */
const linesOf = (name: string): string[] =>
  fileOf(name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))

describe('scripts', () => {
  it.each(SCRIPTS)('%s has its includes in place', (name) => {
    const { source } = loadScript(name)
    expect(source).not.toContain('@include')
    for (const included of includesOf(name)) {
      expect(source).toContain(loadScript(included as ScriptName).source.trim())
    }
  })

  it.each(SCRIPTS)('%s has every line of its file and of what that includes, and no comment', (name) => {
    const lines = loadScript(name).source.split('\n')
    expect([...lines].sort()).toEqual([name, ...includesOf(name)].flatMap(linesOf).sort())
  })

  it('are all the Lua there is, and what they include', () => {
    const used = new Set(SCRIPTS.flatMap((name) => [name, ...includesOf(name)]))
    expect(readdirSync(FOLDER).sort()).toEqual([...used].map((name) => `${name}.lua`).sort())
  })

  it.each(SCRIPTS)('%s says what it takes and what it replies', (name) => {
    const [header] = fileOf(name).split('\n\n')
    for (const part of [`-- ${name}: `, '-- KEYS[', '-- ARGV[', '-- Reply']) expect(header).toContain(part)
  })

  it.each(SCRIPTS)('%s has the name that a server gives it', async (name) => {
    const { source, sha } = loadScript(name)
    const redis = await sharedRedis()
    expect(await redis.call('SCRIPT', 'LOAD', source)).toBe(sha)
  })

  it('that do not exist are not found', () => {
    // @ts-expect-error: the type knows all of them
    expect(() => loadScript('no-such-script')).toThrow()
  })
})
