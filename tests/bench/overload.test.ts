import { describe, expect, it } from 'vitest'
import { CLASSES, routesText } from '../../bench/overload/classes.mjs'
import { drawn } from '../../bench/overload/drawn.mjs'
import { claimsOf, judge } from '../../bench/overload/judge.mjs'
import { readRoutes } from '../../server/src/app/gateway/read-routes.ts'

const PHASES = { calm: [0, 4_000], overload: [4_000, 8_000], after: [8_000, 12_000] } as const

interface Answer {
  readonly status: number
  readonly tookMs: number
}

/** A run in which every class sends a request each 10 ms, and is answered as `answer` says. */
function recorded(answer: (kind: number, dueMs: number) => Answer) {
  const records = { dueMs: [] as number[], kind: [] as number[], status: [] as number[], tookMs: [] as number[] }
  for (let dueMs = 0; dueMs < 12_000; dueMs += 10) {
    for (let kind = 0; kind < CLASSES.length; kind++) {
      const { status, tookMs } = answer(kind, dueMs)
      records.dueMs.push(dueMs)
      records.kind.push(kind)
      records.status.push(status)
      records.tookMs.push(tookMs)
    }
  }
  return judge(records, PHASES)
}

const isOverload = (dueMs: number): boolean => dueMs >= 4_000 && dueMs < 8_000
const good = (kind: number, dueMs: number): Answer => {
  const isShed = isOverload(dueMs) && kind >= 2 && !(kind === 2 && dueMs % 50 === 0)
  return { status: isShed ? 503 : 200, tookMs: isOverload(dueMs) ? 150 : 100 }
}
const missed = (answer: (kind: number, dueMs: number) => Answer): string[] =>
  claimsOf(recorded(answer), { mostRecoveryMs: 3_000 }).flatMap(([what, , isSo]) => (isSo ? [] : [String(what)]))

describe('the judge of an overload', () => {
  it('finds a run good that is', () => {
    expect(missed(good)).toEqual([])
  })

  it.each<[string, (kind: number, dueMs: number) => Answer, string]>([
    [
      'critical requests are refused',
      (kind, at) => (kind === 0 && at % 500 === 0 ? { status: 503, tookMs: 1 } : good(kind, at)),
      'critical: 99 % served',
    ],
    [
      'critical requests are slow',
      (kind, at) => (isOverload(at) ? { ...good(kind, at), tookMs: 201 } : good(kind, at)),
      'critical: p99 within 2 × of the unloaded one',
    ],
    [
      'tests are served before reads',
      (kind, at) => good(kind === 3 ? 2 : kind === 2 ? 3 : kind, at),
      'what matters less is served less',
    ],
    [
      'writes are refused before tests',
      (kind, at) =>
        kind === 1 && at === 4_000
          ? { status: 503, tookMs: 1 }
          : kind === 3 && at === 4_000
            ? { status: 200, tookMs: 100 }
            : good(kind, at),
      'test is shed first',
    ],
    [
      'it lasts long',
      (kind, at) => (at >= 8_000 && at < 11_500 ? good(kind, 7_990) : good(kind, at)),
      'recovers within 3 s',
    ],
    [
      'it flaps',
      (kind, at) => (isOverload(at) && at % 1_000 < 500 ? good(kind, 0) : good(kind, at)),
      'does not flap: each class changes at most twice',
    ],
  ])('notices when %s', (_, answer, claim) => {
    expect(missed(answer)).toContain(claim)
  })

  it('draws what it found', () => {
    const run = recorded(good)
    const svg = drawn(run, run, { totalMs: 12_000, overload: [...PHASES.overload], capacity: 200 })
    expect(svg).toContain('critical: 100.0 % served; write: 100.0 % served')
    expect(svg.match(/<polyline/g)).toHaveLength(6)
    expect(svg).not.toContain('NaN')
  })
})

it('the routes of the overload are ones that a gateway takes', () => {
  const plan = readRoutes({ file: 'routes.yaml', text: routesText(1, true) })
  expect(plan.table.routes.map(({ name, priority }) => [name, priority])).toEqual([
    ['critical', 0],
    ['write', 1],
    ['read', 2],
    ['test', 3],
  ])
  expect(plan.table.upstreams.app?.adaptive).toEqual({ min: 4, max: 256, startsOpen: true })
  expect(readRoutes({ file: 'routes.yaml', text: routesText(1, false) }).table.upstreams.app?.adaptive).toBeUndefined()
})
