import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { COSTS } from '../../server/src/app/sizing/costs.ts'
import { sizeOf } from '../../server/src/app/sizing/size-of.ts'
import { size } from '../../server/src/cli/size.ts'
import { printedBy } from '../cli/printed.suite.ts'

const page = readFileSync(new URL('../../docs/sizing.md', import.meta.url), 'utf8')
const DEMAND = { keys: 1, limits: 1, leased: 0, keyForm: 'readable' } as const
const encoded = (number: number): string => number.toLocaleString('en-US')

it('shows what the command prints', async () => {
  const [, args, text] = /<!-- size: (.*?) -->\n```text\n([^`]*)```/.exec(page) ?? []
  expect(text).toBe(await printedBy(size, args.split(' ')))
})

it('has the tables that are computed', () => {
  const rates = [10_000, 100_000, 500_000].map((perSecond) => {
    const { nodes, workersPerNode, shards } = sizeOf({ ...DEMAND, perSecond })
    const lent = sizeOf({ ...DEMAND, perSecond, leased: 0.9 })
    return `| ${encoded(perSecond)} | ${nodes} × ${workersPerNode} | ${shards} | ${lent.shards} |`
  })
  const gigabytes = (keys: number, keyForm: 'readable' | 'compact'): string =>
    `${(sizeOf({ ...DEMAND, perSecond: 1, keys, keyForm }).memoryBytes / 1e9).toFixed(1)} GB`
  const memory = [1_000_000, 10_000_000, 100_000_000].map(
    (keys) => `| ${encoded(keys)} | ${gigabytes(keys, 'readable')} | ${gigabytes(keys, 'compact')} |`,
  )
  const [, tables] = /<!-- sizes -->\n([\s\S]*?)<!-- \/sizes -->/.exec(page) ?? []
  expect(tables.split('\n').filter((line) => /^\| [0-9]/.test(line))).toEqual([...rates, ...memory])
})

it('names the costs that are computed with', () => {
  const { workerPerSecond, workerFurtherLimit, redisCallUs, redisDecisionUs, redisFurtherLimit, bytesOfCounter } = COSTS
  const figures = [...page.matchAll(/^\| .* \| (.*) \| (?:`npm run bench|no command)/gm)].map(([, figure]) => figure)
  expect(figures).toEqual([
    encoded(workerPerSecond),
    `${workerFurtherLimit} of the first`,
    `${redisCallUs} µs`,
    `${redisDecisionUs} µs`,
    `${redisFurtherLimit} of the first`,
    `${bytesOfCounter.readable}, ${bytesOfCounter.compact}`,
  ])
})
