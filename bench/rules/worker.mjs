import { FieldRenderer } from '../../dist/core/http/field-renderer.js'
import { compileLimit } from '../../dist/core/limit.js'
import { compileObjects } from '../../dist/core/rules/compile.js'
import { loadRules } from '../../dist/core/rules/load.js'
import { match } from '../../dist/core/rules/match.js'
import { Limiter } from '../../dist/engine/limiter.js'
import { MemoryStore } from '../../dist/stores/memory/memory-store.js'
import { cases } from './cases.mjs'
import { ruleText } from './text.mjs'

// node --expose-gc worker.mjs '{"task": …}' prints one JSON object. One process measures one thing.

/** Holds the last answer, so that no compiler may leave the work out. */
let kept

const tasks = { lookups, loading, accounts }
const { task, ...options } = JSON.parse(process.argv[2])
process.stdout.write(JSON.stringify(tasks[task](options)))

/**
 * Measures match() and whole decisions of one case, on the small and the large set in turn. "hot" asks for a hundred
 * descriptors of the first ten rules, which stay in the processor's caches; "spread" asks for one descriptor of each
 * rule of the large set, in random order, so that nearly each look-up misses them.
 */
function lookups({ name, few, many, perRound, rounds }) {
  const { descriptors, entries } = cases[name]
  const sets = [few, many].map((count) => {
    const rules = compileObjects([{ domain: 'd', descriptors: descriptors(count) }])
    return { domain: rules.domains.get('d'), limiter: new Limiter(() => rules, new MemoryStore()) }
  })
  const requestOf = (i, j) => ({ domain: 'd', descriptors: [{ entries: entries(i, j) }] })
  const hot = shuffled(Array.from({ length: 100 }, (_, i) => requestOf(i % few, i)))
  const spread = shuffled(Array.from({ length: many }, (_, i) => requestOf(i, i % 7)))
  checkMatches(sets, hot, spread)
  const result = {}
  for (const [traffic, requests] of Object.entries({ hot, spread })) {
    for (const [what, run] of Object.entries({ match: runMatch, decision: runDecision })) {
      result[`${traffic} ${what}`] = measure(sets, run, requests, perRound, rounds)
    }
  }
  return result
}

/** Returns the times of all rounds in ns, for each set. The sets take turns, and turns at being first. */
function measure(sets, run, requests, perRound, rounds) {
  const times = sets.map(() => [])
  for (const set of sets) run(set, requests, 0, Math.max(perRound, requests.length))
  gc()
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < sets.length; turn++) {
      const at = (turn + round) % sets.length
      const start = process.hrtime.bigint()
      run(sets[at], requests, round * perRound, perRound)
      times[at].push(Number(process.hrtime.bigint() - start) / perRound)
    }
  }
  return times
}

function runMatch({ domain }, requests, from, count) {
  for (let i = 0; i < count; i++) kept = match(domain, requests[(from + i) % requests.length].descriptors[0].entries)
}

function runDecision({ limiter }, requests, from, count) {
  for (let i = 0; i < count; i++) kept = limiter.check(requests[(from + i) % requests.length])
}

/** Makes sure that both sets are asked what they are said to be asked. */
function checkMatches([few, many], hot, spread) {
  const find = ({ domain }, { descriptors }) =>
    match(domain, descriptors[0].entries)
      .map(({ id }) => id)
      .join()
  for (const request of hot) {
    if (find(few, request) === '' || find(few, request) !== find(many, request)) {
      throw new Error(`${JSON.stringify(request)}: ${find(few, request)} is not ${find(many, request)}`)
    }
  }
  const found = new Set(spread.map((request) => find(many, request)))
  if (found.has('') || found.size < spread.length) throw new Error(`only ${found.size} rules are met`)
}

function shuffled(items) {
  let seed = 42
  for (let i = items.length - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    const j = seed % (i + 1)
    ;[items[i], items[j]] = [items[j], items[i]]
  }
  return items
}

/**
 * Measures decisions under a tiered rule, with their HTTP fields, for callers that are known in different ways. Each of
 * them is one of so many callers, in random order; the ways take turns.
 */
function accounts({ callers, perRound, rounds }) {
  const rate_limit = { unit: 'hour', requests_per_unit: 4_000_000_000 }
  const rules = compileObjects([
    { domain: 'd', tiers: { pro: { rate_limit } }, descriptors: [{ key: 'api_key', tiered: true, rate_limit }] },
  ])
  const own = (i) => ({ limit: 1_000_000_000 + i, window: '1h' })
  const limited = (id, limit) => ({ id, limit, namesRule: false, mayAdd: false })
  const known = new Map(Array.from({ length: callers }, (_, i) => [`key-${i}`, limited(`o${i}`, compileLimit(own(i)))]))
  const ways = {
    'the rule': undefined,
    'its tier': () => ({ tier: 'pro', hasLimits: false, ownLimit: () => undefined }),
    'individual limits': (_, { value }) => ({ tier: 'pro', hasLimits: true, ownLimit: () => known.get(value) }),
    'individual limits, compiled again': (_, { value }) => ({
      tier: 'pro',
      hasLimits: true,
      ownLimit: () => limited(value, compileLimit(own(Number(value.slice(4))))),
    }),
  }
  const requests = shuffled(
    Array.from({ length: callers }, (_, i) => ({
      domain: 'd',
      descriptors: [{ entries: [{ key: 'api_key', value: `key-${i}` }] }],
    })),
  )
  const sets = Object.values(ways).map((accounts) => ({
    limiter: new Limiter(() => rules, new MemoryStore(), accounts === undefined ? {} : { accounts }),
  }))
  const renderer = new FieldRenderer()
  const run = ({ limiter }, requests, from, count) => {
    for (let i = 0; i < count; i++) {
      kept = renderer.render(limiter.check(requests[(from + i) % requests.length]), 1_700_000_000_000)
    }
  }
  const times = measure(sets, run, requests, perRound, rounds)
  return Object.fromEntries(Object.keys(ways).map((way, i) => [way, times[i]]))
}

/** Measures how long a YAML file of many rules takes from text to rules in force, and what they weigh. */
function loading({ name, count }) {
  const texts = [{ file: 'rules.yaml', text: ruleText(name, count) }]
  kept = loadRules([{ file: 'first.yaml', text: ruleText(name, 1) }])
  gc()
  const before = process.memoryUsage()
  const start = performance.now()
  kept = loadRules(texts)
  const ms = performance.now() - start
  gc()
  const after = process.memoryUsage()
  const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
  return { ms, textBytes: texts[0].text.length, bytes, ruleCount: kept.ruleCount }
}
