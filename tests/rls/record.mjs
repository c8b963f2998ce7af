// @ts-check
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { domainOf, encodeAsk, openRls, rulesOf } from './rls-wire.mjs'

/*
 * Records what a rate limit service answers to the requests of a fixture, and what it counts. It works with any service
 * that speaks Envoy's protocol and sends its counts to StatsD over TCP.
 *
 *   node tests/rls/record.mjs rules FIXTURE FOLDER             writes the rule files; start the service with them, with
 *                                                              the settings of the fixture as its environment, and
 *                                                              with StatsD at the port below
 *   node tests/rls/record.mjs answers FIXTURE HOST:PORT PORT   asks, and writes the answers into the fixture
 */

/** @typedef {import('./rls-wire.mjs').Fixture} Fixture */

const [command, path, ...rest] = process.argv.slice(2)
const fixture = /** @type {Fixture} */ (JSON.parse(readFileSync(path, 'utf8')))

/** @param {string} folder */
function writeRules(folder) {
  mkdirSync(folder, { recursive: true })
  for (const i of fixture.cases.keys()) writeFileSync(join(folder, `${domainOf(i)}.yaml`), rulesOf(fixture, i))
}

/** @param {string} address
 * @param {number} statsPort */
async function record(address, statsPort) {
  const stats = collectStats(statsPort)
  const rls = openRls(address)
  for (const [i, each] of fixture.cases.entries()) {
    const windowMs = /second/i.test(rulesOf(fixture, i) + JSON.stringify(each.asks)) ? 1_000 : 60_000
    // A case is asked within one window.
    const passedMs = Date.now() % windowMs
    if (windowMs - passedMs < 700) await pause(windowMs - passedMs)
    const startedMs = Date.now()
    each.answers = []
    for (const ask of each.asks) each.answers.push(await rls.ask(encodeAsk(ask, domainOf(i))))
    if (Math.floor(startedMs / windowMs) !== Math.floor(Date.now() / windowMs))
      throw new Error(`${each.claim}: too slow`)
  }
  rls.close()
  const asked = fixture.cases.reduce((sum, { answers }) => sum + answers.length, 0)
  while ((stats.counts.get('ratelimit_server.ShouldRateLimit.total_requests') ?? 0) < asked - NOT_COUNTED)
    await pause(100)
  for (const [i, each] of fixture.cases.entries())
    each.stats = statsOf(stats.counts, `ratelimit.service.rate_limit.${domainOf(i)}.`)
  writeFileSync(path, `${encode(fixture)}\n`)
  stats.close()
  console.log(`${asked} answers in ${fixture.cases.length} cases`)
}

/** Requests that are no message never reach what counts requests. */
const NOT_COUNTED = fixture.cases.reduce((sum, { asks }) => sum + asks.filter((ask) => 'bytes' in ask).length, 0)

/**
 * Adds up the counts that come as StatsD lines.
 * @param {number} port
 */
function collectStats(port) {
  const counts = /** @type {Map<string, number>} */ (new Map())
  const server = createServer((socket) => {
    let text = ''
    socket.on('data', (chunk) => {
      const lines = (text + chunk).split('\n')
      text = /** @type {string} */ (lines.pop())
      for (const line of lines) {
        const [, name, value] = /^(.*):(\d+)\|c$/.exec(line) ?? []
        if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + Number(value))
      }
    })
  })
  server.listen(port, '127.0.0.1')
  return { counts, close: () => process.nextTick(() => process.exit()) }
}

/**
 * The counts below a name that are not 0.
 * @param {ReadonlyMap<string, number>} counts
 * @param {string} prefix
 */
function statsOf(counts, prefix) {
  const own = [...counts].filter(([name, value]) => name.startsWith(prefix) && value !== 0)
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]).sort())
}

/** spell writes a fixture with a line for each request and each answer.
 * @param {Fixture} all */
function encode({ reference, settings, rules, cases }) {
  /** @param {unknown[]} values */
  const lines = (values) =>
    values.length === 0 ? '[]' : `[\n${values.map((each) => `    ${JSON.stringify(each)}`).join(',\n')}\n   ]`
  const encoded = cases.map(({ claim, rules: name, asks, answers, stats }) =>
    [
      `  {"claim": ${JSON.stringify(claim)}, "rules": ${JSON.stringify(name)},`,
      `   "asks": ${lines(asks)},`,
      `   "answers": ${lines(answers)},`,
      `   "stats": ${JSON.stringify(stats)}}`,
    ].join('\n'),
  )
  const named = Object.entries(rules).map(([name, text]) => `  ${JSON.stringify(name)}: ${JSON.stringify(text)}`)
  return [
    `{"reference": ${JSON.stringify(reference)},`,
    ` "settings": ${JSON.stringify(settings)},`,
    ` "rules": {\n${named.join(',\n')}\n },`,
    ` "cases": [\n${encoded.join(',\n')}\n ]}`,
  ].join('\n')
}

if (command === 'rules') writeRules(rest[0])
else await record(rest[0], Number(rest[1]))
