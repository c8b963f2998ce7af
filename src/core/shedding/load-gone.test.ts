import { describe, expect, it } from 'vitest'
import { seededRandom } from '../algorithms/oracle.suite.ts'
import type { Priority } from './priority.ts'
import { utilisationOf } from './utilisation.ts'
import { WorkerLaw } from './worker-law.ts'

const SAMPLE_MS = 100

interface Second {
  readonly offered: number[]
  readonly shed: number[]
  readonly level: number
}

/** A worker with one queue that serves so many a second. What it sees of itself is how long the last one waited. */
function simulate(
  load: (second: number) => number,
  seconds: number,
  capacity: number,
  seed: number,
): readonly Second[] {
  const law = new WorkerLaw()
  const random = seededRandom(seed)
  const pause = (perMs: number): number => -Math.log(1 - random()) / perMs
  const found: Second[] = []
  let freeMs = 0
  let nextMs = 0
  for (let second = 0; second < seconds; second++) {
    const [offered, shed] = [
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ]
    for (let endMs = second * 1_000 + SAMPLE_MS; endMs <= (second + 1) * 1_000; endMs += SAMPLE_MS) {
      const flow = { offered: 0, admitted: 0 }
      for (; nextMs < endMs; nextMs += pause((load(second) * capacity) / 1_000)) {
        const dice = random()
        const priority: Priority = dice < 0.15 ? 0 : dice < 0.4 ? 1 : dice < 0.7 ? 2 : 3
        offered[priority]++
        flow.offered++
        if (law.sheds(priority, random())) {
          shed[priority]++
          continue
        }
        flow.admitted++
        freeMs = Math.max(freeMs, nextMs) + pause(capacity / 1_000)
      }
      const delayMs = Math.max(0, freeMs - endMs)
      law.sample(utilisationOf({ delayMs, inFlight: 0, latencyMs: 0 }, { delayMs: 50 }), SAMPLE_MS, flow)
    }
    found.push({ offered, shed, level: law.level })
  }
  return found
}

const shedIn = (seconds: readonly Second[]): number =>
  seconds.reduce((sum, { shed }) => sum + shed.reduce((a, b) => a + b), 0)
const offeredIn = (seconds: readonly Second[]): number =>
  seconds.reduce((sum, { offered }) => sum + offered.reduce((a, b) => a + b), 0)

const WORKERS: readonly (readonly [perSecond: number, seed: number])[] = [
  [1_000, 1],
  [1_000, 2],
  [100, 3],
  [100, 4],
  [5_000, 5],
  ...Array.from({ length: 20 }, (_, i) => [100, 100 + i] as const),
]

describe.each(WORKERS)(
  'a worker that serves %d a second, and was offered four times that (seed %d)',
  (capacity, seed) => {
    const run = simulate((second) => (second < 40 ? 4 : 0.5), 60, capacity, seed)

    it('sheds nothing any more three seconds after the load has gone to a half', () => {
      expect(run[39].level).toBeGreaterThan(1.5)
      expect(shedIn(run.slice(43))).toBe(0)
    })

    it('does not let go before', () => {
      const settled = run.slice(8, 40)
      expect(Math.min(...settled.map(({ level }) => level))).toBeGreaterThan(1.5)
      expect(1 - shedIn(settled) / offeredIn(settled)).toBeLessThan(0.3)
    })
  },
)

describe('a worker', () => {
  it('whose requests become ten times as dear does not take that for a load that has gone', () => {
    const law = new WorkerLaw()
    const hold = (utilisation: number, flow: { offered: number; admitted: number }, ms: number): number => {
      for (let at = 0; at < ms; at += SAMPLE_MS) law.sample(utilisation, SAMPLE_MS, flow)
      return law.level
    }
    hold(0.95, { offered: 400, admitted: 100 }, 20_000)
    expect(hold(0.2, { offered: 30, admitted: 30 }, 2_000)).toBe(0)
    expect(hold(4, { offered: 30, admitted: 30 }, 4_000)).toBeGreaterThan(1)
    expect(hold(0.65, { offered: 30, admitted: 10 }, 1_500)).toBeGreaterThan(1)
  })

  it('of which only utilisation is known lets requests in again slowly', () => {
    const law = new WorkerLaw()
    for (let at = 0; at < 60_000; at += SAMPLE_MS) law.sample(1, SAMPLE_MS)
    for (let at = 0; at < 4_000; at += SAMPLE_MS) law.sample(0, SAMPLE_MS)
    expect(law.level).toBeGreaterThan(1)
  })
})
