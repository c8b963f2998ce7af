import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ASK, startWhole } from '../attacks/service.suite.ts'

const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')

interface Row {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
}

/** The rows of the table of metrics. */
function listed(): Row[] {
  return [...page.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram|summary) \| ([^|]*)\|/gm)].map(
    ([, name, type, labels]) => ({ name, type, labels: [...labels.matchAll(/`([a-z]+)`/g)].map(([, label]) => label) }),
  )
}

/** The labels that samples of a metric have, by its name. */
function labelsIn(text: string, name: string): string[] {
  const samples = text
    .split('\n')
    .filter((line) => line.startsWith(name) && /^(_bucket|_sum|_count)?[{ ]/.test(line.slice(name.length)))
  const labels = samples.flatMap((line) => [...line.matchAll(/[{,]([a-z]+)="/g)].map(([, label]) => label))
  return [...new Set(labels)].filter((label) => label !== 'le').sort()
}

describe('docs/observability.md', () => {
  it('lists every metric that is printed, with its type, and no other', async () => {
    const { admin } = await startWhole()
    const text = await (await fetch(`${admin}/metrics`)).text()
    const printed = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => ({ name, type }))
    expect(listed().map(({ name, type }) => ({ name, type }))).toEqual(printed)
  })

  it('lists the labels that they have', async () => {
    const { admin, post } = await startWhole()
    await post('/v1/check', ASK)
    const text = await (await fetch(`${admin}/metrics`)).text()
    const wrong = listed().flatMap(({ name, labels }) => {
      const found = labelsIn(text, name)
      const hasSamples = text.includes(`\n${name}{`) || text.includes(`\n${name}_sum{`)
      return hasSamples && found.join() !== [...labels].sort().join() ? [`${name}: ${found.join()}`] : []
    })
    expect(wrong).toEqual([])
  })

  it('says of each what it means, and what to do when it moves', () => {
    const rows = page.split('\n').filter((line) => /^\| `[a-z_]+` \| (counter|gauge|histogram|summary)/.test(line))
    const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()))
    expect(cells.filter(([, , , , means, moves]) => means.length < 10 || moves.length < 10)).toEqual([])
  })
})
