import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ruleJsonSchema } from '../../src/core/rules/json-schema.ts'
import { exampleFiles, filesIn } from './examples.suite.ts'

const root = new URL('../../', import.meta.url)
const published: object = JSON.parse(readFileSync(new URL('schema/rules.schema.json', root), 'utf8'))

describe('schema/rules.schema.json', () => {
  it('is the schema of the rule language', () => {
    const hint = 'the rule language has changed; run: npm run build && node scripts/schema.mjs && npm run format'
    expect(published, hint).toEqual(JSON.parse(JSON.stringify(ruleJsonSchema())))
  })

  const ajv = new Ajv({ allowUnionTypes: true, allErrors: true })
  const validate = ajv.compile(published)
  const faultsOf = (text: string): string[] => {
    validate(parse(text, { merge: true }))
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }

  it.each([...exampleFiles(), ...filesIn('tests/fixtures/rules/envoy')])('accepts $file', ({ text }) => {
    expect(faultsOf(text)).toEqual([])
  })

  const bad = readdirSync(new URL('tests/fixtures/rules/bad', root)).filter((name) => name.endsWith('.yaml'))
  // What only concerns the form of a file, an editor can tell; what must fit together, it cannot.
  const ofForm = bad
    .map((name) => ({ name, text: readFileSync(new URL(`tests/fixtures/rules/bad/${name}`, root), 'utf8') }))
    .filter(({ text }) => /^# expect: RULE_(INVALID|UNKNOWN_KEY): /.test(text) && !/__proto__/.test(text))

  it.each(ofForm)('refuses $name', ({ text }) => {
    expect(faultsOf(text)).not.toEqual([])
  })

  it('is tried on many bad files', () => {
    expect(ofForm.length).toBeGreaterThan(60)
  })

  it.each(['minute', 'MINUTE', 'Minute'])('accepts the unit %s', (unit) => {
    expect(
      faultsOf(`{ domain: d, descriptors: [{ key: k, rate_limit: { unit: ${unit}, requests_per_unit: 1 } }] }`),
    ).toEqual([])
  })

  it('says where', () => {
    const text = '{ domain: d, descriptors: [{ key: k, rate_limit: { unit: minute, burts: 5 } }] }'
    expect(faultsOf(text)).toContain('/descriptors/0/rate_limit must NOT have additional properties')
  })
})
