import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { compileOptionsOf, limiterPartsOf, storeFor } from '../../server/src/app/settings/compatibility.ts'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { observerOf } from '../../server/src/observe/door-observer.ts'
import { RuleStats } from '../../server/src/observe/rule-stats.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import type { Store } from '../../src/engine/ports.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { START_MS } from '../rules/examples.suite.ts'
import { DIFFERENCES } from './reference-differences.ts'
import { startService } from './rls-service.suite.ts'
import { domainOf, encodeAsk, type Fixture, openRls, rulesOf } from './rls-wire.mjs'
import { openScriptStore } from './script-store.suite.ts'

/*
 * Answers and counts of envoyproxy/ratelimit, recorded with tests/rls/record.mjs, and ours to the same requests on the same
 * rules, field by field. What differs is listed, with its reason.
 */

const directory = new URL('../fixtures/reference/', import.meta.url)
const NOW_MS = START_MS + 17_500
const fixtures = readdirSync(directory)
  .map((name) => ({ name, ...(JSON.parse(readFileSync(new URL(name, directory), 'utf8')) as Fixture) }))
  .filter(({ cases }) => cases !== undefined)

interface Found {
  readonly claim: string
  readonly field: string
  readonly theirs: unknown
  readonly ours: unknown
}

const closing: (() => Promise<void>)[] = []
afterAll(() => Promise.all(closing.map((close) => close())))

/** Asks a service of ours, told to be compatible, and returns its answers and counts, case by case. */
async function answersOf(
  fixture: Fixture,
  store: Store,
): Promise<{ answers: unknown[]; stats: Record<string, number> }[]> {
  const config = readConfig(['--compatibility', 'envoyproxy-ratelimit'], fixture.settings)
  const texts = fixture.cases.map((_, i) => ({ file: `${domainOf(i)}.yaml`, text: rulesOf(fixture, i) }))
  const rules = loadRules(texts, compileOptionsOf(config.mergeDomains, config.compatibility))
  const observer = new RuleStats({ asReference: true })
  const parts = { ...limiterPartsOf(config), shadow: config.shadowMode, observer: observerOf('rls', [observer]) }
  const { shadowMode, responseHeaders, dynamicMetadata } = config
  const options = { shadowMode, responseHeaders, dynamicMetadata, asReference: true, nowMs: () => NOW_MS }
  const service = await startService(new Limiter(() => rules, storeFor(config, store), parts), options)
  const rls = openRls(`127.0.0.1:${service.grpcPort}`)
  closing.push(async () => {
    rls.close()
    await service.close()
    await store.close()
  })
  const answered = []
  for (const [i, { asks }] of fixture.cases.entries()) {
    const answers: unknown[] = []
    for (const ask of asks) answers.push(await rls.ask(encodeAsk(ask, domainOf(i)), () => NOW_MS))
    const prefix = `ratelimit.service.rate_limit.${domainOf(i)}.`
    const own = [...observer.list()].filter(([name, count]) => name.startsWith(prefix) && count > 0)
    answered.push({
      answers,
      stats: Object.fromEntries(own.map(([name, count]) => [name.slice(prefix.length), count])),
    })
  }
  return answered
}

/** Lists the fields in which two values differ. */
function differencesOf(theirs: unknown, ours: unknown, field: string): Omit<Found, 'claim'>[] {
  if (!isObject(theirs) || !isObject(ours)) return Object.is(theirs, ours) ? [] : [{ field, theirs, ours }]
  return [...new Set([...Object.keys(theirs), ...Object.keys(ours)])].flatMap((key) =>
    differencesOf(theirs[key], ours[key], `${field}.${key}`),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

const isListed = ({ claim, field }: Found) =>
  DIFFERENCES.some(({ cases, fields }) => cases.includes(claim) && fields.test(field))

const encoded = ({ claim, field, theirs, ours }: Found) =>
  `${claim}: ${field}: ${JSON.stringify(theirs)} there, ${JSON.stringify(ours)} here`

const found: Found[] = []

const STORES: Readonly<Record<string, () => Store | Promise<Store>>> = {
  memory: () => new MemoryStore({ clock: { nowMs: () => NOW_MS } }),
  Redis: () => openScriptStore(NOW_MS),
}

describe.each(Object.keys(STORES))('in compatibility mode, Sluice on %s answers as envoyproxy/ratelimit', (name) => {
  it.each(fixtures)('in $name, or as listed', async (fixture) => {
    const answered = await answersOf(fixture, await STORES[name]())
    const differences = fixture.cases.flatMap(({ claim, answers, stats }, i) =>
      differencesOf({ answers, stats }, answered[i], '').map((each) => ({ claim, ...each })),
    )
    found.push(...differences)
    expect(differences.filter((each) => !isListed(each)).map(encoded)).toEqual([])
  })

  it('in all but what is listed: nothing is listed that does not differ any more', () => {
    const stale = DIFFERENCES.flatMap(({ cases, fields }) =>
      cases.filter((name) => !found.some(({ claim, field }) => claim === name && fields.test(field))),
    )
    expect(stale).toEqual([])
  })
})
