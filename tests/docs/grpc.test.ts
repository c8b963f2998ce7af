import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { SETTINGS } from '../../server/src/app/settings/settings.ts'
import { MAX_WATCHES, MAX_WATCHES_OF_A_CONNECTION } from '../../server/src/edge/health/watch-bound.ts'
import { MAX_BYTES } from '../../server/src/edge/http/body.ts'
import { DEFAULT_HTTP_BOUNDS } from '../../server/src/edge/http/bounds.ts'
import { MAX_BATCH_FIELDS, MAX_LIMITS, MAX_REQUESTS } from '../../server/src/edge/limiter/limiter-request.ts'
import { MAX_DESCRIPTORS, MAX_ENTRIES, MAX_FIELDS, MAX_MESSAGE_BYTES } from '../../server/src/edge/rls/rls-request.ts'
import { DEFAULT_BUDGETS } from '../../server/src/grpc/budgets.ts'
import { DEFAULT_LIMITS } from '../../server/src/grpc/limits.ts'
import { newCounters } from '../../server/src/grpc/stats.ts'

const text = readFileSync(new URL('../../docs/grpc.md', import.meta.url), 'utf8')
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()))
const named = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name)

function encode(name: string, value: number): string {
  if (name.endsWith('Ms')) {
    if (value >= 3_600_000) return `${value / 3_600_000} h`
    return value > 60_000 ? `${value / 60_000} min` : `${value / 1_000} s`
  }
  if (name.endsWith('Bytes')) return value >= 1 << 20 ? `${value / (1 << 20)} MiB` : `${value / 1024} KiB`
  return value.toLocaleString('en-US')
}

/** Those of the service, as the page spells them, and as the code has them. */
const BOUNDS: [what: string, name: string, value: number][] = [
  ['bytes of a message over gRPC', 'Bytes', MAX_MESSAGE_BYTES],
  ['fields of a request, over gRPC', '', MAX_FIELDS],
  ['fields of a message of `sluice.v1.Limiter`', '', MAX_BATCH_FIELDS],
  ['requests in a message of `sluice.v1.Limiter`', '', MAX_REQUESTS],
  ['descriptors in a request', '', MAX_DESCRIPTORS],
  ['entries in a descriptor', '', MAX_ENTRIES],
  ['their own limits, in a message of `sluice.v1.Limiter`', '', MAX_LIMITS],
  ['calls of `Health/Watch` on a connection', '', MAX_WATCHES_OF_A_CONNECTION],
  ['calls of `Health/Watch` in a process', '', MAX_WATCHES],
  ['bytes held for gRPC clients, in a process', 'Bytes', DEFAULT_LIMITS.maxHeldBytes],
  ['gRPC connections of a process', '', DEFAULT_LIMITS.maxConnections],
  ['HTTP connections of a process', '', DEFAULT_HTTP_BOUNDS.maxConnections],
  ['bytes of a body over HTTP', 'Bytes', MAX_BYTES],
  ['bytes of bodies that are not complete, in a process', 'Bytes', DEFAULT_HTTP_BOUNDS.maxBodyBytes],
  ['time to the end of the headers, over HTTP', 'Ms', DEFAULT_HTTP_BOUNDS.headersTimeoutMs],
  ['time for a whole request, over HTTP', 'Ms', DEFAULT_HTTP_BOUNDS.requestTimeoutMs],
  ['time that a worker may be silent', 'Ms', readConfig([], {}).workerTimeoutMs],
]

describe('docs/grpc.md', () => {
  const { budgets: _, ...limits } = DEFAULT_LIMITS

  it.each(Object.entries(limits))('names %s with its default', (name, value) => {
    const found = rows.filter((row) => row[3] === `\`${name}\``).map((row) => row[2])
    expect(found).toEqual([encode(name, value)])
  })

  it.each(Object.entries(DEFAULT_BUDGETS))('names the budget %s with its default', (name, { burst, perSecond }) => {
    const found = rows.filter((row) => row[4] === `\`${name}\``).map((row) => row[2])
    expect(found).toEqual([`${burst.toLocaleString('en-US')}, ${perSecond}`])
  })

  it('lists the bounds of the service as they are, and no other', () => {
    const from = text.indexOf('## Bounds of the service')
    const listed = text
      .slice(from)
      .split('\n')
      .filter((line) => line.startsWith('| ') && !/^\| (what|---) \|/.test(line))
      .map((line) => line.split('|').map((cell) => cell.trim()))
    expect(listed.map(([, what, bound]) => [what, bound])).toEqual(
      BOUNDS.map(([what, name, value]) => [what, encode(name, value)]),
    )
    const flags = listed.flatMap((row) => [...row[4].matchAll(/--([a-z-]+)/g)].map(([, flag]) => flag))
    expect(flags.filter((flag) => !SETTINGS.some((setting) => setting.flag === flag))).toEqual([])
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
