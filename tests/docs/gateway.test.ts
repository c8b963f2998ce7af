import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readRoutes } from '../../server/src/app/gateway/read-routes.ts'
import { GATEWAY_SETTINGS } from '../../server/src/app/settings/gateway-settings.ts'
import { DEFAULT_GATEWAY_BOUNDS as BOUNDS, type GatewayBounds } from '../../server/src/edge/gateway/options.ts'
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

  it('lists every flag, every key of a routes file, and the options that only its limits have', () => {
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

describe('the bounds in docs/gateway.md', () => {
  const section = page.slice(page.indexOf('\n## Bounds'), page.indexOf('\n## Draining'))
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const number = (value: number) => value.toLocaleString('en')
  const mib = (bytes: number) => `${bytes / 1_048_576} MiB`
  const rate = ({ burst, perSecond }: GatewayBounds['resets']) => `${number(burst)} + ${number(perSecond)}`
  const seconds = (ms: number) => `${ms / 1_000} s`

  /** Where each bound stands: how its row begins, in which column, and how it is written there. */
  const places: Readonly<Record<keyof GatewayBounds, readonly [row: string, column: number, text: string]>> = {
    maxConnections: ['connections', 4, number(BOUNDS.maxConnections)],
    maxConnectionsPerAddress: ['connections', 3, number(BOUNDS.maxConnectionsPerAddress)],
    maxRequests: ['requests in flight', 4, number(BOUNDS.maxRequests)],
    maxAwaitedBodies: ['requests whose bodies are waited for', 2, number(BOUNDS.maxAwaitedBodies)],
    maxStreams: ['streams', 2, number(BOUNDS.maxStreams)],
    maxHeldBytes: ['bytes held', 4, mib(BOUNDS.maxHeldBytes)],
    maxHeldBytesPerAddress: ['bytes held', 3, mib(BOUNDS.maxHeldBytesPerAddress)],
    maxHeldBytesPerConnection: ['bytes held', 2, mib(BOUNDS.maxHeldBytesPerConnection)],
    resets: ['requests of HTTP/2 reset', 4, rate(BOUNDS.resets)],
    resetsPerAddress: ['requests of HTTP/2 reset', 3, rate(BOUNDS.resetsPerAddress)],
    resetsPerConnection: ['requests of HTTP/2 reset', 2, rate(BOUNDS.resetsPerConnection)],
    unitsPerTurn: ['work that begins in one turn', 4, number(BOUNDS.unitsPerTurn)],
    maxHeaderBytes: ['bytes and fields of the head of a request', 2, number(BOUNDS.maxHeaderBytes)],
    maxHeaders: ['bytes and fields of the head of a request', 2, `and ${number(BOUNDS.maxHeaders)}`],
    maxAnswerHeaders: ['bytes and fields of the head of an answer', 2, `and ${number(BOUNDS.maxAnswerHeaders)}`],
    headMs: ['time for the head', 2, seconds(BOUNDS.headMs)],
    keepAliveMs: ['time for the head', 2, seconds(BOUNDS.keepAliveMs)],
  }

  it.each(Object.entries(places))('%s is as in the code', (_, [begin, column, text]) => {
    const row = rows.find((cells) => cells[1]?.startsWith(begin))
    expect(row?.[column]).toMatch(new RegExp(`(^|\\W)${text.replace('+', '\\+')}(\\W|$)`))
  })

  it.each([
    ['--max-connections', BOUNDS.maxConnections],
    ['--max-connections-per-address', BOUNDS.maxConnectionsPerAddress],
    ['--max-held', BOUNDS.maxHeldBytes / 1_048_576],
  ])('%s is that unless set, and its help says so', (flag, value) => {
    const spec = GATEWAY_SETTINGS.find((each) => `--${each.flag}` === flag)
    expect(spec).toMatchObject({ unset: `${value}` })
    expect(page).toMatch(new RegExp(`\`${flag} .* ${number(value)}( MiB)? unless set`))
  })
})

describe('server/schema/routes.schema.json', () => {
  const published = JSON.parse(read('server/schema/routes.schema.json')) as object

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
