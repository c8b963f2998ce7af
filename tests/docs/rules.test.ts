import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ALGORITHM_NAMES } from '../../src/core/limit.ts'
import { LIMIT_OPTIONS, type LimitOption } from '../../src/core/limit-options.ts'
import { ruleJsonSchema } from '../../src/core/rules/json-schema.ts'
import { loadRules } from '../../src/core/rules/load.ts'

const root = new URL('../../', import.meta.url)
const read = (file: string): string => readFileSync(new URL(file, root), 'utf8')

const documents = ['README.md', ...readdirSync(new URL('docs/', root)).map((name) => `docs/${name}`)]
const blocks = documents
  .filter((name) => name.endsWith('.md'))
  .flatMap((file) =>
    [...read(file).matchAll(/^```ya?ml\n(.*?)^```$/gms)].map(([, text], i) => ({ file, i: i + 1, text })),
  )
  .filter(({ text }) => /^domain:/m.test(text))

describe('rules in the documents', () => {
  it('are there', () => {
    expect(blocks.filter(({ file }) => file === 'docs/rules.md').length).toBeGreaterThanOrEqual(3)
  })

  it.each(blocks)('$file, block $i, loads', ({ file, text }) => {
    expect(loadRules([{ file, text }]).ruleCount).toBeGreaterThan(0)
  })
})

type Schema = { readonly [key: string]: Schema } & {
  readonly $ref?: string
  readonly anyOf?: Schema[]
  readonly allOf?: Schema[]
}
const schema = ruleJsonSchema() as Schema

/** Follows references, and takes the first choice, until there are properties. */
function resolve(part: Schema): Schema {
  if (part.$ref !== undefined)
    return resolve(
      part.$ref
        .split('/')
        .slice(1)
        .reduce((at, name) => at[name], schema),
    )
  const choices = part.allOf ?? part.anyOf
  if (choices === undefined) return part
  return resolve(choices.find((each) => resolve(each).properties ?? resolve(each).items) ?? choices[0])
}
const at = (part: Schema, name: string): Schema => resolve(resolve(part).properties[name])
const keysOf = (part: Schema): string[] => Object.keys(resolve(part).properties).sort()

const descriptor = resolve(at(schema, 'descriptors').items)
const limit = at(descriptor, 'rate_limit')

/** Lists the keys in the first column of the table below a heading. */
function rowsOf(heading: string): string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const cells = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|')[1])
  return cells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, key]) => key)).sort()
}
const page = read('docs/rules.md')

describe('docs/rules.md', () => {
  it.each<[string, Schema]>([
    ['A file', schema],
    ['A descriptor', descriptor],
    ['A limit', limit],
  ])('lists under "%s" every key of the language, and no other', (heading, part) => {
    expect(rowsOf(heading)).toEqual(keysOf(part))
  })

  it.each<[string, Schema]>([
    ['calendar', at(limit, 'calendar')],
    ['cost', at(limit, 'cost')],
    ['response', at(limit, 'response')],
    ['replaces', resolve(at(limit, 'replaces').items)],
  ])('shows every key of %s', (name, part) => {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\``)) ?? ''
    const shown = [...row.matchAll(/[{ ]([a-z_]+)[:,}]/g)].map(([, key]) => key)
    expect(shown).toEqual(expect.arrayContaining(keysOf(part)))
  })

  it('lists every choice of a key that has few', () => {
    const choices = ['evaluate', 'consistency', 'on_store_failure', 'anchor'].map((key) => {
      const { enum: all } = at(key === 'evaluate' ? schema : limit, key) as unknown as { enum: string[] }
      const row = page.split('\n').find((line) => line.startsWith(`| \`${key}\``)) ?? ''
      return [key, all.filter((choice) => !row.includes(`\`${choice}\``))]
    })
    expect(choices).toEqual(choices.map(([key]) => [key, []]))
  })

  /** Splits the row of a limit's option: its key, what is said of it, its default. */
  const limitRow = (key: string): string[] => {
    const section = page.split(/^## /m).find((part) => part.startsWith('A limit\n')) ?? ''
    const row = section.split('\n').find((line) => line.startsWith(`| \`${key}\``)) ?? ''
    return row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  }
  const options = Object.entries<LimitOption>(LIMIT_OPTIONS)

  it.each(options)('states the default of %s, if it has one', (key, { default: usual }) => {
    const stated = limitRow(key)[2].replaceAll('`', '').split(';')[0]
    if (usual !== undefined) expect(stated).toBe(String(usual))
    else expect(stated).not.toMatch(/^(\d+(ms|s)?|true|false)$/)
  })

  it.each(options.filter(([, { algorithms = ALGORITHM_NAMES }]) => algorithms.length <= 3))(
    'says which algorithms use %s',
    (key, { algorithms = [] }) => {
      const subject = algorithms.length === 1 ? `\`${algorithms[0]}\`: ` : 'buckets: '
      expect(limitRow(key)[1].startsWith(subject)).toBe(true)
    },
  )

  it.each(options.flatMap(([key, { needs }]) => (needs === undefined ? [] : [[key, needs[1]]])))(
    'says that %s needs %s',
    (key, value) => {
      expect(limitRow(key)[1].startsWith(`\`${value}\`: `)).toBe(true)
    },
  )

  it('quotes an error as it is', () => {
    const quoted = /^RULE_DUPLICATE_KEY: rules\/api\.yaml:.*$/m.exec(page)?.[0] ?? ''
    const text = 'domain: api\n\ndescriptors:\n\n\n  - key: login\n\n\n\n\n\n\n\n  - key: login\n'
    expect(() => loadRules([{ file: 'rules/api.yaml', text }])).toThrow(expect.objectContaining({ message: quoted }))
  })
})
