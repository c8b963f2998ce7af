// node tests/upgrades/record.mjs FOLDER
// Writes down what a node of this build sends to Redis, and how it names counters: the script, a call for each algorithm, and
// keys. Run it once for each release whose nodes have to count together with later ones, never to make a test pass.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KeyEncoder } from '../../dist/core/key-encoder.js'
import { storedKey } from '../../dist/core/keys.js'
import { compileLimit } from '../../dist/core/limit.js'
import { loadRules } from '../../dist/core/rules/load.js'
import { match } from '../../dist/core/rules/match.js'
import { PARTITIONS, sharedHash } from '../../dist/engine/shared-hash.js'
import { LimitTexts } from '../../dist/stores/redis/formats/limit-texts.js'
import { CompactKeys, readableKeys } from '../../dist/stores/redis/formats/stored-keys.js'
import { encodeGroups } from '../../dist/stores/redis/formats/wire-format.js'
import { loadScript } from '../../dist/stores/redis/scripts/scripts.js'

const SECRET = 'the secret of all nodes'
const NOW_MS = 1_800_000_000_000
const LIMITS = [
  { algorithm: 'sliding_window', limit: 10, window: 60_000 },
  { algorithm: 'sliding_window', limit: 10, window: 60_000, subWindows: 6 },
  { algorithm: 'fixed_window', limit: 10, window: 60_000 },
  { algorithm: 'fixed_window', limit: 10, window: 60_000, anchor: 'first_hit' },
  { algorithm: 'fixed_window', limit: 10, calendar: { unit: 'month', timeZone: 'Europe/Berlin' } },
  { algorithm: 'token_bucket', limit: 10, window: 60_000, burst: 10 },
  { algorithm: 'gcra', limit: 10, window: 60_000, burst: 10 },
  { algorithm: 'leaky_bucket', limit: 10, window: 60_000, burst: 10 },
  { algorithm: 'sliding_log', limit: 10, window: 60_000 },
  { algorithm: 'concurrency', limit: 10, leaseTtl: 60_000 },
]
const RULES = `domain: api
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 10 }
  - key: user
    value: bob
    rate_limit: { name: bobs, algorithm: token_bucket, unit: second, requests_per_unit: 10, burst: 50 }
  - key: api_key
    secret: true
    rate_limit: { unit: hour, requests_per_unit: 10 }
    descriptors:
      - key: path
        rate_limit: { algorithm: fixed_window, unit: day, requests_per_unit: 10 }
`
const ENTRIES = [
  [['user', 'alice']],
  [['user', 'bob']],
  [['user', 'a|b=c{d}%\u00fc']],
  [['user', 'x'.repeat(300)]],
  [['api_key', 'sk_live_0123456789abcdef']],
  [
    ['api_key', 'sk_live_0123456789abcdef'],
    ['path', '/v1/orders'],
  ],
]

/** What a node sends for one hit. */
function callOf(options, names, permit) {
  const limit = compileLimit(options)
  const permits = options.algorithm === 'concurrency' ? Buffer.from(permit) : undefined
  const charge = { key: 'sluice:{7}:api|limit|user=42', limit, cost: 1, enforce: true }
  const { keys, args } = encodeGroups([{ charges: [charge], permits }], new LimitTexts(() => NOW_MS, names), NOW_MS)
  return { keys, args: args.map((each) => Buffer.from(each).toString('base64')) }
}

const compact = (prefix = '') => new CompactKeys(sharedHash(SECRET), prefix, false)
const calls = LIMITS.flatMap((options) =>
  [readableKeys(''), compact()].map((names) => ({
    options,
    compact: names.isCompact,
    calls: ['an-old-1', 'an-old-2'].map((permit) => callOf(options, names, permit)),
  })),
)

const { domains } = loadRules([{ file: 'api.yaml', text: RULES }])
const encoder = new KeyEncoder(sharedHash(SECRET), PARTITIONS)
const keys = ENTRIES.map((list) => {
  const entries = list.map(([key, value]) => ({ key, value }))
  return { entries, keys: match(domains.get('api'), entries).map((rule) => encoded(rule, entries)) }
})

function encoded(rule, entries) {
  const key = storedKey(encoder.encode('api', rule, entries), rule.limit)
  return { readable: key, compact: compact().of(key) }
}

const folder = process.argv[2]
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'decide.lua'), loadScript('decide').source)
const record = { secret: SECRET, nowMs: NOW_MS, rules: RULES, calls, keys }
writeFileSync(join(folder, 'record.json'), `${JSON.stringify(record, null, 1)}\n`)
