import { readdirSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ERROR_RULES } from '../../src/core/error-rules.ts'
import { raisedBy } from '../../src/core/raised.suite.ts'
import { loadRules, type RuleText } from '../../src/core/rules/load.ts'

const directory = new URL('../fixtures/rules/bad/', import.meta.url)

/** Returns the files of one case: a file, or all files of a directory. */
function filesOf(name: string): RuleText[] {
  const isDirectory = statSync(new URL(name, directory)).isDirectory()
  const files = isDirectory ? readdirSync(new URL(name, directory)).map((file) => `${name}/${file}`) : [name]
  return files.map((file) => ({ file, text: readFileSync(new URL(file, directory), 'utf8') }))
}

/** Each case says in comments at its top what is wrong with it, and whether its files are one domain. */
const cases = readdirSync(directory).map((name) => {
  const files = filesOf(name)
  const lines = files.flatMap(({ text }) => text.split('\n'))
  return {
    name,
    files,
    mergeDomains: lines.includes('# merge domains'),
    expected: lines.filter((line) => line.startsWith('# expect: ')).map((line) => line.slice('# expect: '.length)),
  }
})

describe('a bad rule file', () => {
  it.each(cases)('$name is refused with all that is wrong with it', ({ files, mergeDomains, expected }) => {
    expect(raisedBy(() => loadRules(files, { mergeDomains })).split('\n')).toEqual(expected)
  })

  it.each(cases)('$name is refused with a place in the file, in the order of the text', ({ expected }) => {
    const places = expected.map((line) => /^[A-Z_]+: ([^:]+):(\d+):(\d+): /.exec(line)?.slice(1) ?? [])
    expect(places.every((place) => place.length === 3)).toBe(true)
    const sortable = places.map(([file, line, column]) => `${file} ${line.padStart(6, '0')} ${column.padStart(6, '0')}`)
    expect(sortable).toEqual([...sortable].sort())
  })

  it('is there for every error that a file can have', () => {
    const met = new Set(cases.flatMap(({ expected }) => expected.map((line) => line.split(':')[0])))
    const unmet = Object.keys(ERROR_RULES).filter((code) => /^RULE_/.test(code) && !met.has(code))
    // The first two are about reading a file; the rule language itself catches what the others are about.
    expect(unmet).toEqual(['RULE_FILE_UNREADABLE', 'RULE_FILE_TOO_LARGE'])
    const ofLimits = Object.keys(ERROR_RULES).slice(0, Object.keys(ERROR_RULES).indexOf('COST_INVALID'))
    expect(ofLimits.filter((code) => !met.has(code))).toEqual([
      'LIMIT_INVALID',
      'DURATION_UNIT_MISSING',
      'ANCHOR_UNKNOWN',
      'ALGORITHM_UNKNOWN',
      'OPTION_UNKNOWN',
    ])
  })
})

const UNKNOWN = 'Only keys of the rule language are accepted (docs/rules.md), so that a typo is never ignored.'
const SYNTAX = 'A rule file must be valid YAML.'
const LANGUAGE = 'See docs/rules.md for the rule language.'

/** What an editor or a version control system would not keep as it is. */
describe('the bytes of a bad rule file', () => {
  it.each<[string, string, string[]]>([
    [
      'nothing',
      '',
      [`RULE_INVALID: f.yaml:1:1: got null (invalid input: expected object, received null). ${LANGUAGE}`],
    ],
    ['a byte order mark', '\ufeffdomain: api\ncolour: blue\n', [`RULE_UNKNOWN_KEY: f.yaml:2:1: "colour". ${UNKNOWN}`]],
    [
      'lines that end in CR LF',
      'domain: api\r\n\r\ncolour: blue\r\nsize: 5\r\n',
      [`RULE_UNKNOWN_KEY: f.yaml:3:1: "colour". ${UNKNOWN}`, `RULE_UNKNOWN_KEY: f.yaml:4:1: "size". ${UNKNOWN}`],
    ],
    [
      'a text with CR LF after a long text',
      'domain: api\r\nversion: |\r\n  one\r\n  two\r\ncolour: blue\r\n',
      [`RULE_UNKNOWN_KEY: f.yaml:5:1: "colour". ${UNKNOWN}`],
    ],
    ['a NUL', 'domain: a\0pi\n', [`RULE_SYNTAX: f.yaml:1:10: control character U+0000. ${SYNTAX}`]],
    [
      'an escape character',
      'domain: api\n# \x1b[31m\n',
      [`RULE_SYNTAX: f.yaml:2:3: control character U+001B. ${SYNTAX}`],
    ],
    ['no line break at the end', 'domain: api\ncolour: blue', [`RULE_UNKNOWN_KEY: f.yaml:2:1: "colour". ${UNKNOWN}`]],
    [
      'wide characters before the fault',
      'domain: "😀名"\n"ü": { a: 1 }\n',
      [`RULE_UNKNOWN_KEY: f.yaml:2:1: "ü". ${UNKNOWN}`],
    ],
  ])('%s', (_, text, expected) => {
    expect(raisedBy(() => loadRules([{ file: 'f.yaml', text }])).split('\n')).toEqual(expected)
  })

  it.each<[string, string]>([
    ['a byte order mark', '\ufeffdomain: api\n'],
    ['lines that end in CR LF', 'domain: api\r\ndescriptors:\r\n  - key: user\r\n'],
    ['a document start and end', '---\ndomain: api\n...\n'],
    ['a comment at the end', 'domain: api\n# end'],
    ['JSON', '{"domain": "api", "descriptors": [{"key": "user"}]}'],
    ['tabs where YAML allows them', 'domain:\tapi\t# named\n'],
    ['64 levels', `domain: api\ndescriptors: [{ key: a, metadata: { a: ${'['.repeat(60)}${']'.repeat(60)} } }]\n`],
  ])('may have %s', (_, text) => {
    expect(loadRules([{ file: 'f.yaml', text }]).domains.has('api')).toBe(true)
  })
})
