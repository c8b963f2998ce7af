import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '../tests/servers/redis.mjs'
import { header, median, table } from './report.mjs'
import { ended, healthy } from './start/processes.mjs'

// npm run bench -- start [--quick]: how long `sluice serve` takes until its health check answers, and how much memory
// it has two seconds later. For comparison, Node.js with nothing to do, and with express loaded: wall time on a machine
// that others use means nothing alone, its ratio to theirs in the same round does. Linux only: it reads /proc.

const rounds = process.argv.includes('--quick') ? 3 : 11
const RULES = `domain: api
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 100 }
`

// They report when they are ready, and end when asked to: their times can be read in between.
const WAIT = "process.stdout.write('.'); process.stdin.resume()"
const express = import.meta.resolve('express')

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const rules = join(dir, 'rules.yaml')
writeFileSync(rules, RULES)
const redis = await startRedis()
const withRedis = ['--rules', rules, '--redis', redis.url]

const CASES = [
  { name: 'node -e 0', run: () => ended(['-e', WAIT]) },
  { name: "node -e import('express')", run: () => ended(['-e', `import('${express}').then(() => { ${WAIT} })`]) },
  { name: 'sluice, memory', run: () => healthy(['--rules', rules]) },
  { name: 'sluice, examples', run: () => healthy(['--examples']) },
  { name: 'sluice, Redis', run: () => healthy(withRedis) },
  { name: 'sluice, Redis, 2 workers', run: () => healthy([...withRedis, '--workers', '2']) },
]

const ms = (value) => `${value.toFixed(0)} ms`
const megabytes = (value) => (value === undefined ? '' : `${(value / 1e6).toFixed(0)} MB`)
const times = (value) => `${value.toFixed(1)} ×`

console.log(`${header(`npm run bench -- start, ${rounds} rounds in turn, medians`, ['sluice', 'express'])}\n`)
const runs = CASES.map(() => [])
for (let round = 0; round < rounds; round++) {
  for (const [i, { run }] of CASES.entries()) runs[i].push(await run())
}
const middle = (i, field) => median(runs[i].map((run) => run[field]))
const ratio = (i, to, field) => times(median(runs[i].map((run, round) => run[field] / runs[to][round][field])))
const rows = CASES.map(({ name }, i) => [
  name,
  ms(middle(i, 'ms')),
  ratio(i, 0, 'ms'),
  ratio(i, 1, 'ms'),
  ms(middle(i, 'cpuMs')),
  ratio(i, 0, 'cpuMs'),
  ratio(i, 1, 'cpuMs'),
  runs[i][0].largestBytes === undefined ? '' : megabytes(middle(i, 'largestBytes')),
  runs[i][0].allBytes === undefined ? '' : megabytes(middle(i, 'allBytes')),
])
const head = ['', 'time', 'node', 'express', 'CPU', 'node', 'express', 'largest process, idle', 'all processes']
console.log(table(head, rows))
await redis.stop()
rmSync(dir, { recursive: true })
