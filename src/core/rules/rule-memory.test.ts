import { describe, expect, it } from 'vitest'
import type { CompileOptions } from './compile.ts'
import { describeRules } from './describe.ts'
import { loadRules, type RuleInput } from './load.ts'
import { RuleMemory } from './rule-memory.ts'

const text = (domain: string, limit: number | string, ...more: string[]): string =>
  [
    `domain: ${domain}`,
    'descriptors:',
    `  - {key: a, rate_limit: {unit: day, requests_per_unit: ${limit}}}`,
    ...more,
  ].join('\n')
const filesOf = (texts: Readonly<Record<string, string>>): RuleInput[] =>
  Object.entries(texts).map(([file, content]) => ({ file, text: content }))

/** What a load comes to: its rules in words, or everything that is wrong. */
function outcome(load: () => ReturnType<typeof loadRules>): unknown {
  try {
    const { ruleCount, version, ...rules } = load()
    return { ruleCount, version, rules: describeRules({ ruleCount, version, ...rules }) }
  } catch (error) {
    return (error as Error).message
  }
}

const MERGED: CompileOptions = { mergeDomains: true }

/** One load after the other, each of which must come to what it would without the others. */
const LOADS: readonly [claim: string, texts: Readonly<Record<string, string>>, options?: CompileOptions][] = [
  ['two files', { a: text('a', 1), b: text('b', 2) }],
  ['one of them changed', { a: text('a', 5), b: text('b', 2) }],
  ['one of them wrong', { a: text('a', '-5'), b: text('b', 2) }],
  ['still wrong', { a: text('a', '-5'), b: text('b', 2) }],
  ['wrong under another name', { renamed: text('a', '-5'), b: text('b', 2) }],
  ['right again', { a: text('a', 5), b: text('b', 2) }],
  ['renamed', { c: text('a', 5), d: text('b', 2) }],
  ['one domain twice', { a: text('a', 5), b: text('b', 2), again: text('a', 5) }],
  ['one domain in two files that are merged', { a: text('a', 5), again: text('a', 5, '  - {key: b}') }, MERGED],
  ['one key twice', { a: text('a', 5), again: text('a', 6) }, MERGED],
  ['other defaults', { a: text('a', 5) }, { defaults: { algorithm: 'token_bucket' } }],
  ['the usual defaults', { a: text('a', 5) }],
  ['not YAML', { a: 'domain: [', b: text('b', 2) }],
  ['nothing', {}],
]

describe('a memory of rules', () => {
  it('changes nothing that a load comes to', () => {
    const memory = new RuleMemory()
    for (const [claim, texts, options] of LOADS) {
      const inputs = filesOf(texts)
      const expected = outcome(() => loadRules(inputs, options))
      expect([claim, outcome(() => memory.load(inputs, options))]).toEqual([claim, expected])
    }
  })

  it('compiles only the domain that changed, and that of a file that was wrong in between', () => {
    const memory = new RuleMemory()
    const load = (a: string, b: string) => memory.load(filesOf({ a, b })).domains
    const first = load(text('a', 1), text('b', 2))
    const second = load(text('a', 3), text('b', 2))
    expect(second.get('b')).toBe(first.get('b'))
    expect(second.get('a')).not.toBe(first.get('a'))
    expect(() => load(text('a', 3), text('b', 'no'))).toThrow()
    const third = load(text('a', 3), text('b', 2))
    expect(third.get('a')).toBe(second.get('a'))
  })

  it('forgets what the last load did not have', () => {
    const memory = new RuleMemory()
    const load = (a: string) => memory.load(filesOf({ a })).domains.get('a')
    const first = load(text('a', 1))
    expect(load(text('a', 1))).toBe(first)
    load(text('a', 2))
    expect(load(text('a', 1))).not.toBe(first)
  })

  it('says what one file comes to: alone, and in a domain that others have, too', () => {
    const memory = new RuleMemory()
    const own = text('a', 1, '  - {key: b, rate_limit: {unit: day, requests_per_unit: 1}}')
    memory.load(filesOf({ b: text('b', 1), own }))
    expect(memory.figuresOf(own)).toEqual({ limits: 2, domains: ['a'] })
    const other = text('a', 1).replace('key: a', 'key: c')
    expect(memory.load(filesOf({ other, own }), MERGED).ruleCount).toBe(3)
    expect(memory.figuresOf(own, MERGED)).toEqual({ limits: 2, domains: ['a'] })
  })
})
