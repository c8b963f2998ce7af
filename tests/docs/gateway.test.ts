import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readRoutes } from '../../server/src/app/gateway/read-routes.ts'
import { GATEWAY_SETTINGS } from '../../server/src/app/settings/gateway-settings.ts'
import { routesJsonSchema } from '../../server/src/edge/gateway-rules/file/json-schema.ts'
import { OWN_LIMIT_FIELDS, ROUTES_FILE } from '../../server/src/edge/gateway-rules/file/schema.ts'
import { PATH_KINDS } from '../fixtures/path-spellings.ts'

const root = new URL('../../', import.meta.url)
const read = (file: string): string => readFileSync(new URL(file, root), 'utf8')
const page = read('docs/gateway.md')
const examplesIn = (file: string): string[][] =>
  [...read(file).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text], i) => [`${file}, example ${i + 1}`, text])
const files = [
  ...examplesIn('docs/gateway.md'),
  ...examplesIn('docs/shedding.md'),
  ['examples/gateway/gateway.yaml', read('examples/gateway/gateway.yaml')],
] as [file: string, text: string][]

describe('docs/gateway.md', () => {
  it.each(files)('%s is a routes file', (file, text) => {
    expect(readRoutes({ file, text }).warnings).toEqual([])
  })

  it('lists every flag, every key of a routes file, and what a limit has of its own', () => {
    for (const { flag, env } of GATEWAY_SETTINGS) expect(page).toMatch(new RegExp(`\`--${flag}[ \`].*\`${env}\``))
    for (const key of Object.keys(ROUTES_FILE.fields)) expect(page, key).toContain(`\`${key}\``)
    for (const key of Object.keys(ROUTES_FILE.fields.routes.schema.of.fields)) expect(page, key).toContain(`\`${key}\``)
    for (const key of Object.keys(OWN_LIMIT_FIELDS)) expect(page, key).toContain(`\`${key}\``)
  })
})

describe('the table of paths in docs/gateway.md', () => {
  it('is what the fixture says, which runs through the gateway to real upstreams', () => {
    const section = page.slice(page.indexOf('\n## Paths'), page.indexOf('\n## What is refused'))
    const rows = [...section.matchAll(/^\| (.+?) \| (`.+?`) \| (`\/login`|`\/\*`|400) \| (.+?) \|$/gm)]
    expect(rows.map(([, what, sent, charged, forwarded]) => [what, sent, charged, forwarded])).toEqual(
      PATH_KINDS.map(({ what, sent, charged, forwarded }) => [
        what,
        Object.keys(sent)
          .map((each) => `\`${each}\``)
          .join(', '),
        charged === 400 ? '400' : charged === 'login' ? '`/login`' : '`/*`',
        charged === 400 ? '–' : forwarded === undefined ? 'as sent' : `\`${forwarded}\``,
      ]),
    )
  })
})

describe('schema/routes.schema.json', () => {
  const published = JSON.parse(read('schema/routes.schema.json')) as object

  it('is the form of routes files', () => {
    const hint = 'it has changed; run: npm run build && node scripts/schema.mjs && npm run format'
    expect(published, hint).toEqual(JSON.parse(JSON.stringify(routesJsonSchema())))
  })

  it.each(files)('accepts %s', (_, text) => {
    const validate = new Ajv({ allowUnionTypes: true, allErrors: true }).compile(published)
    validate(parse(text))
    expect(validate.errors ?? []).toEqual([])
  })
})
