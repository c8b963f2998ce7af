import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startRedis } from '../tests/servers/redis.mjs'
import { header } from './report.mjs'
import { FLEETS, LIMIT, PHASE_MS, reportEnds, reportFleets, WINDOW_MS } from './scale/many-nodes.mjs'
import { isQuick, measure, say } from './scale/measure.mjs'
import { BUSY, reportRates, reportTimes } from './scale/one-node.mjs'
import { inLastWindow } from './scale/over.mjs'
import { admittedPlot, ratesPlot, slicesPlot } from './scale/plots.mjs'

// npm run bench -- scale [--quick]: exact, leased and eventual counting side by side, on one Redis. It fails when more
// was admitted than promised, and when what was admitted was not counted in any round. Without --quick it also draws
// docs/consistency/*.svg.

const SLICES = { perSecond: 20_000, limit: 40_000 }
const plots = fileURLToPath(new URL('../docs/consistency/', import.meta.url))

async function draw(url, rates, fleets) {
  const grants = {}
  for (const nodes of FLEETS) grants[nodes] = await measure({ task: 'sizes', url, nodes, ...SLICES })
  const overTime = fleets[4]
    .filter(({ rule }) => rule.sub_windows !== undefined)
    .map(({ kind, rule, admitted }) => ({ kind, counts: inLastWindow(rule, admitted) }))
  const drawn = {
    'rates.svg': ratesPlot(rates, BUSY),
    'admitted.svg': admittedPlot(overTime, { limit: LIMIT, windowMs: WINDOW_MS, phaseMs: PHASE_MS }),
    'slices.svg': slicesPlot(grants, SLICES),
  }
  mkdirSync(plots, { recursive: true })
  for (const [name, text] of Object.entries(drawn)) writeFileSync(`${plots}${name}`, text)
  say(`drawn into docs/consistency: ${Object.keys(drawn).join(', ')}`)
}

const startedAt = Date.now()
const server = await startRedis()
say(
  header(`npm run bench -- scale${isQuick ? ' --quick' : ''}`, ['sluice', '@redis/client']),
  `redis     ${await server.field('redis_version', 'INFO', 'server')}, on loopback; nodes and server share the cores of the machine`,
)
const rates = await reportRates(server.url)
await reportTimes(server.url, rates)
const { fleets, broken } = await reportFleets(server)
await reportEnds(server)
if (!isQuick && process.exitCode !== 1) await draw(server.url, rates, fleets)
await server.stop()
say(`took ${Math.round((Date.now() - startedAt) / 1000)} s`)
if (broken.length > 0) {
  console.error(`FAILED: more was admitted than promised\n${broken.join('\n')}`)
  process.exitCode = 1
}
