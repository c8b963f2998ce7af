import { describe, expect, it } from 'vitest'
import { compileObjects, NO_RULES } from './compile.ts'
import { loadRules } from './load.ts'
import { packRules } from './pack-rules.ts'
import { RuleUnpacker } from './rule-unpacker.ts'

const TEXT = 'domain: d\ndescriptors:\n  - { key: user, rate_limit: { unit: minute, requests_per_unit: 5 } }\n'
const versionOf = (...texts: string[]): string =>
  loadRules(texts.map((text, i) => ({ file: `${i}.yaml`, text }))).version

describe('the version of a rule set', () => {
  it('is 12 hexadecimal digits that other releases format the same', () => {
    expect(versionOf(TEXT)).toBe('b8cfefa2950f')
    expect(NO_RULES.version).toBe('000000000000')
  })

  it('does not depend on comments, spaces, names of files, or on whether rules are text or objects', () => {
    const rate_limit = { unit: 'minute', requests_per_unit: 5 } as const
    expect(versionOf(`# five\n${TEXT}\n`)).toBe(versionOf(TEXT))
    expect(compileObjects([{ domain: 'd', descriptors: [{ key: 'user', rate_limit }] }]).version).toBe(versionOf(TEXT))
  })

  it('changes with every limit, and with every file', () => {
    const other = TEXT.replace('domain: d', 'domain: e')
    const all = [versionOf(TEXT), versionOf(TEXT.replace('5', '6')), versionOf(TEXT, other), versionOf(other, TEXT)]
    expect(new Set(all).size).toBe(4)
  })

  it('distinguishes rules that differ beyond the first 64 Ki characters, in any alphabet', () => {
    const long = (end: string): string => versionOf(`${many}  - { key: ${end} }\n`)
    const many = `domain: d\ndescriptors:\n${Array.from({ length: 5_000 }, (_, i) => `  - { key: "ж${i}" }\n`).join('')}`
    expect(long('a')).not.toBe(long('b'))
  })

  it('travels with rules to other processes', () => {
    const rules = loadRules([{ file: 'a.yaml', text: TEXT }])
    const unpacker = new RuleUnpacker()
    const unpacked = [...packRules(rules)].map((part) => unpacker.add(structuredClone(part))).at(-1)
    expect(unpacked?.version).toBe(rules.version)
  })
})
