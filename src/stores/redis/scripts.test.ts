import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { loadScript } from './scripts.ts'

const FOLDER = new URL('./lua/', import.meta.url)
const SCRIPTS = ['count', 'decide', 'exchange', 'release', 'throttle']

const includesOf = (name: string): string[] => {
  const text = readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8')
  return [...text.matchAll(/^--- @include "(.*)"$/gm)].flatMap(([, included]) => [included, ...includesOf(included)])
}

describe('scripts', () => {
  it.each(SCRIPTS)('%s has its includes in place', (name) => {
    const { source } = loadScript(name)
    expect(source).not.toContain('@include')
    for (const included of includesOf(name)) {
      expect(source).toContain(loadScript(included).source.trim())
    }
  })

  it('are all the Lua there is, and what they include', () => {
    const used = new Set(SCRIPTS.flatMap((name) => [name, ...includesOf(name)]))
    expect(readdirSync(FOLDER).sort()).toEqual([...used].sort().map((name) => `${name}.lua`))
  })

  it.each(SCRIPTS)('%s says what it takes and what it replies', (name) => {
    const [header] = loadScript(name).source.split('\n\n')
    for (const part of [`-- ${name}: `, '-- KEYS[', '-- ARGV[', '-- Reply']) expect(header).toContain(part)
  })

  it.each(SCRIPTS)('%s has the name that a server gives it', async (name) => {
    const { source, sha } = loadScript(name)
    const redis = await sharedRedis()
    expect(await redis.call('SCRIPT', 'LOAD', source)).toBe(sha)
  })

  it('that do not exist are not found', () => {
    expect(() => loadScript('no-such-script')).toThrow(/ENOENT/)
  })
})
