import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { raisedBy } from '../../src/core/raised.suite.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { RulesError } from '../../src/core/rules/problems.ts'
import { exampleFiles } from './examples.suite.ts'

const load = (text: string) => loadRules([{ file: 'f.yaml', text }])
const firstLine = (text: string): string => raisedBy(() => load(text)).split('\n')[0]

const DEEP = 'A rule file must nest at most 64 levels deep.'
const ALIASES =
  'A rule file must have at most 10000 anchors and aliases, at most 1000 aliases per anchor, and expand to at most 1000000 values.'

/** Writes a descriptor in another, count levels deep. */
function indented(count: number): string {
  const levels = Array.from({ length: count }, (_, i) => `${' '.repeat(i)}descriptors:\n${' '.repeat(i)}- key: a\n`)
  return `domain: d\n${levels.join('')}`
}

/** Makes each of a list of anchors one level deeper than the one before. */
function chained(count: number): string {
  const links = Array.from({ length: count }, (_, i) => `  - &a${i + 1} { key: a, descriptors: [*a${i}] }\n`)
  return `domain: d\ndescriptors:\n  - key: x\n    metadata: { first: &a0 { key: a } }\n${links.join('')}`
}

const list = (count: number, item: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join('')

// Each of these would take minutes, or all memory, if the time grew with anything but the length of the text.
describe('a file that is made to hurt', () => {
  it.each<[string, () => string, string]>([
    [
      '9 MB of rules',
      () => '# comment\n'.repeat(900_000),
      'RULE_FILE_TOO_LARGE: f.yaml: 9000000 characters. A rule file must be at most 8 MiB. Split it by domain.',
    ],
    [
      '100,000 brackets',
      () => `domain: ${'['.repeat(100_000)}`,
      `RULE_FILE_TOO_DEEP: f.yaml:1:73: more than 64 levels. ${DEEP}`,
    ],
    [
      '100,000 braces',
      () => `domain: ${'{a: '.repeat(100_000)}`,
      `RULE_FILE_TOO_DEEP: f.yaml:1:265: more than 64 levels. ${DEEP}`,
    ],
    [
      '100,000 dashes',
      () => `domain:\n${'- '.repeat(100_000)}`,
      `RULE_FILE_TOO_DEEP: f.yaml:2:129: more than 64 levels. ${DEEP}`,
    ],
    [
      '64 dashes far apart',
      () => `${'-   '.repeat(64)}${'x'.repeat(1_000)}`,
      'RULE_INVALID: f.yaml:1:1: got a list (invalid input: expected object, received array). See docs/rules.md for the rule language.',
    ],
    [
      '100,000 question marks',
      () => `domain:\n${'? '.repeat(100_000)}`,
      `RULE_FILE_TOO_DEEP: f.yaml:2:131: more than 64 levels. ${DEEP}`,
    ],
    [
      '2,000 levels by indentation',
      () => indented(2_000),
      `RULE_FILE_TOO_DEEP: f.yaml:65:39: more than 64 levels. ${DEEP}`,
    ],
    [
      '100,000 steps of indentation in one line',
      () => `domain: d\n${' '.repeat(100_000)}x: 1\n`,
      'RULE_SYNTAX: f.yaml:1:9: Nested mappings are not allowed in compact mappings. A rule file must be valid YAML.',
    ],
    ['100 levels by aliases', () => chained(100), `RULE_FILE_TOO_DEEP: f.yaml:5:33: more than 64 levels. ${DEEP}`],
    [
      '10,000 aliases of one anchor',
      () => `domain: d\nx: &a 1\ny: [${'*a, '.repeat(10_000)}]\n`,
      `RULE_TOO_MANY_ALIASES: f.yaml:3:4005: more than 1000 of one anchor. ${ALIASES}`,
    ],
    [
      '20,000 anchors',
      () => `domain: d\nx: [${list(20_000, (i) => `&a${i} 1, `)}]\n`,
      `RULE_TOO_MANY_ALIASES: f.yaml:2:98903: more than 10000 anchors and aliases. ${ALIASES}`,
    ],
    [
      'a large list, 1,000 times',
      () => `domain: d\nx: &a [${'1, '.repeat(10_000)}]\ny: [${'*a, '.repeat(1_000)}]\n`,
      `RULE_TOO_MANY_ALIASES: f.yaml:3:401: aliases for more than 1000000 values. ${ALIASES}`,
    ],
    [
      'a map with 10,000 keys',
      () => list(10_000, (i) => `k${i}: 1\n`),
      'RULE_FILE_FOREIGN: f.yaml:1:1: the file has "k0", "k1", "k2", …, but neither domain nor descriptors. ' +
        'A rule file must be YAML with a domain and descriptors (docs/rules.md).',
    ],
    [
      'one key 10,000 times',
      () => 'k: 1\n'.repeat(10_000),
      'RULE_SYNTAX: f.yaml:2:1: "k" is already given at line 1. A rule file must be valid YAML.',
    ],
    [
      '10,000 documents',
      () => 'domain: d\n---\n'.repeat(10_000),
      'RULE_SYNTAX: f.yaml:2:1: the file has a second document. A rule file must be valid YAML.',
    ],
  ])('with %s is refused', (_, text, message) => {
    expect(firstLine(text())).toBe(message)
  })

  it('with 10,000 errors is refused with the first thousand of them, and how many there are', () => {
    const lines = raisedBy(() => load(`domain: d\ndescriptors:\n${'- {}\n'.repeat(10_000)}`)).split('\n')
    expect([lines.length, lines[999], lines[1_000]]).toEqual([
      1_001,
      'RULE_INVALID: f.yaml:1002:3: key is missing. See docs/rules.md for the rule language.',
      '… and 9000 more',
    ])
  })

  it('with 10,000 errors of syntax is refused with the first ten of them', () => {
    const lines = raisedBy(() => load(`domain: d\n${'x\n'.repeat(10_000)}`)).split('\n')
    expect([lines.length, lines[10]]).toEqual([11, expect.stringMatching(/^… and \d+ more$/)])
  })

  it('may use an anchor 1,000 times', () => {
    const rules = list(1_000, (i) => `- { key: k${i}, rate_limit: *a }\n`)
    const text = `domain: d\ndescriptors:\n- { key: k, rate_limit: &a { unit: minute, requests_per_unit: 1 } }\n${rules}`
    expect(load(text).ruleCount).toBe(1_001)
  })
})

/** Says how loading ends: with rules, or with a RulesError. Anything else is thrown on. */
function outcome(text: string): 'rules' | 'errors' {
  try {
    load(text)
    return 'rules'
  } catch (error) {
    if (error instanceof RulesError && error.errors.length > 0) return 'errors'
    throw error
  }
}

describe('whatever a file holds', () => {
  const piece = fc.constantFrom(
    ...[
      'domain: d\n',
      'descriptors:\n',
      '- key: a\n',
      '  value: b\n',
      '  rate_limit:\n',
      '    unit: minute\n',
      '    requests_per_unit: 1\n',
    ],
    ...[
      'tiers:\n',
      '  free: {}\n',
      'cidr: ',
      '[',
      ']',
      '{',
      '}',
      ': ',
      '- ',
      '? ',
      '&a ',
      '*a ',
      '<<: ',
      '!!str ',
      '!x ',
      '|\n',
      '>\n',
      '"',
      "'",
    ],
    ...[
      '\n',
      ' ',
      '\t',
      '\r',
      ',',
      '#',
      '%',
      '@',
      '---\n',
      '...\n',
      'null',
      '~',
      '.inf',
      '0x1f',
      '-1',
      '1e999',
      '\0',
      '\ufeff',
      '\u2028',
      '\ud800',
      '__proto__: ',
    ],
  )

  it.each<[string, fc.Arbitrary<string>]>([
    ['random bytes', fc.uint8Array({ maxLength: 200 }).map((bytes) => new TextDecoder().decode(bytes))],
    ['random characters', fc.string({ unit: 'binary', maxLength: 200 })],
    ['pieces of rules in any order', fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''))],
  ])('%s end in rules or in a RulesError', (_, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        outcome(text)
      }),
      { numRuns: 500 },
    )
  })

  it('rules with a few mistakes end in rules or in a RulesError', () => {
    const mistake = fc.record({
      at: fc.nat(),
      removed: fc.nat(12),
      added: fc.oneof(piece, fc.string({ maxLength: 5 })),
    })
    const file = fc.constantFrom(...exampleFiles().map(({ text }) => text))
    const seen = { rules: 0, errors: 0 }
    fc.assert(
      fc.property(file, fc.array(mistake, { minLength: 1, maxLength: 3 }), (text, mistakes) => {
        const changed = mistakes.reduce((before, { at, removed, added }) => {
          const start = at % before.length
          return before.slice(0, start) + added + before.slice(start + removed)
        }, text)
        seen[outcome(changed)]++
      }),
      { numRuns: 200 },
    )
    expect(Math.min(seen.rules, seen.errors)).toBeGreaterThan(5)
  })

  it('objects of any form end in rules or in a RulesError', async () => {
    const { compileObjects } = await import('../../src/core/rules/compile.ts')
    const key = fc.constantFrom(
      'domain',
      'descriptors',
      'key',
      'value',
      'rate_limit',
      'rate_limits',
      'tiers',
      'cidr',
      'cost',
      'tiered',
      'unit',
      '__proto__',
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom(1, -1, 'a', 'a*', '', null, undefined, true, () => 1, Symbol('s'), Number.NaN, 10n),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(tree, tree, (descriptors, tiers) => {
        try {
          compileObjects([{ domain: 'd', descriptors, tiers } as never])
        } catch (error) {
          expect(error).toBeInstanceOf(RulesError)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('objects without end are refused', async () => {
    const { compileObjects } = await import('../../src/core/rules/compile.ts')
    const endless: { key: string; descriptors: unknown[] } = { key: 'a', descriptors: [] }
    endless.descriptors.push(endless)
    const message = raisedBy(() => compileObjects([{ domain: 'd', descriptors: [endless] } as never]))
    expect(message).toBe(`RULE_FILE_TOO_DEEP: rules[0]${'.descriptors[0]'.repeat(32)}: more than 64 levels. ${DEEP}`)
  })
})
