import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DEFAULT_BUDGETS } from '../../server/src/grpc/budgets.ts'
import { DEFAULT_LIMITS } from '../../server/src/grpc/limits.ts'
import { newCounters } from '../../server/src/grpc/stats.ts'

const text = readFileSync(new URL('../../docs/grpc.md', import.meta.url), 'utf8')
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()))
const named = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name)

function spell(name: string, value: number): string {
  if (name.endsWith('Ms')) {
    if (value >= 3_600_000) return `${value / 3_600_000} h`
    return value > 60_000 ? `${value / 60_000} min` : `${value / 1_000} s`
  }
  if (name.endsWith('Bytes')) return value >= 1 << 20 ? `${value / (1 << 20)} MiB` : `${value / 1024} KiB`
  return value.toLocaleString('en-US')
}

describe('docs/grpc.md', () => {
  const { budgets: _, ...limits } = DEFAULT_LIMITS

  it.each(Object.entries(limits))('names %s with its default', (name, value) => {
    const found = rows.filter((row) => row[3] === `\`${name}\``).map((row) => row[2])
    expect(found).toEqual([spell(name, value)])
  })

  it.each(Object.entries(DEFAULT_BUDGETS))('names the budget %s with its default', (name, { burst, perSecond }) => {
    const found = rows.filter((row) => row[4] === `\`${name}\``).map((row) => row[2])
    expect(found).toEqual([`${burst.toLocaleString('en-US')}, ${perSecond}`])
  })

  it('names every counter of connections that were ended, and none that does not exist', () => {
    const counters = newCounters()
    const tables = text.slice(text.indexOf('## Budgets against abuse'))
    const known = Object.keys(counters.closedFor)
    expect(known.filter((name) => !tables.includes(`\`${name}\``))).toEqual([])
    const counted = rows.filter((row) => row.length === 6).flatMap((row) => named(row[4]))
    expect(counted.filter((name) => !known.includes(name) && !Object.hasOwn(counters, name))).toEqual([])
  })
})
