import { describe, expect, it } from 'vitest'
import { LATENCY_BUCKETS, latencyBucket } from '../../observe/live/latencies.ts'
import type { LiveReport } from '../../observe/live/live-report.ts'
import { type Figures, NO_FIGURES } from '../nodes/node-note.ts'
import type { LiveFrame } from './live-frames.ts'
import { LiveFrames } from './live-frames.ts'

function report(allowed: number, refused: number, ms = 1, changes: Partial<LiveReport> = {}): LiveReport {
  const latencies = new Array<number>(LATENCY_BUCKETS).fill(0)
  latencies[latencyBucket(ms)] = allowed + refused
  const rules = [{ domain: 'api', id: 'user', allowed, refused, shadowRefused: 0 }]
  return { allowed, refused, shadowRefused: 0, latencies, rules, ...changes }
}

/** scene is frames of processes that a test makes up. */
function scene() {
  const now = { ms: 1_000_000 }
  const given: { reports: LiveReport[]; there: Figures[]; away: number; sent: Figures[] } = {
    reports: [],
    there: [],
    away: 0,
    sent: [],
  }
  const live = new LiveFrames({
    collect: () => given.reports,
    nodes: {
      beat: async (figures) => void given.sent.push(figures),
      others: () => ({ there: given.there, away: given.away }),
    },
    state: () => ({ store: 'up', database: 'none', ruleVersion: 'v1' }),
    nowMs: () => now.ms,
  })
  const tick = async (...reports: LiveReport[]): Promise<LiveFrame> => {
    given.reports = reports
    await live.tick()
    now.ms += 1_000
    return live.history(0).at(-1) as LiveFrame
  }
  return { live, given, tick, now }
}

describe('a live frame', () => {
  it('adds up the processes of a node, and sends it to the others', async () => {
    const { tick, given } = scene()
    const frame = await tick(report(99, 0, 0.5), report(0, 1, 40))
    expect(frame).toMatchObject({ allowed: 99, refused: 1, nodes: 1, nodesAway: 0, store: 'up', ruleVersion: 'v1' })
    expect(frame.rules).toEqual([{ domain: 'api', id: 'user', allowed: 99, refused: 1, shadowRefused: 0 }])
    expect([frame.p50Ms >= 0.5 && frame.p50Ms < 0.6, frame.p99Ms >= 0.5 && frame.p99Ms < 0.6]).toEqual([true, true])
    expect(given.sent).toMatchObject([{ allowed: 99, refused: 1 }])
  })

  it('adds other nodes, and says how many are away', async () => {
    const { tick, given } = scene()
    given.there = [{ ...NO_FIGURES, allowed: 10, p50Ms: 3, p99Ms: 9 }]
    given.away = 1
    expect(await tick(report(30, 0, 1))).toMatchObject({ allowed: 40, nodes: 3, nodesAway: 1, p99Ms: 9 })
    expect(given.sent).toMatchObject([{ allowed: 30 }])
  })

  it('has zeros when nothing was decided', async () => {
    const { tick } = scene()
    expect(await tick(report(0, 0))).toMatchObject({ allowed: 0, refused: 0, p50Ms: 0, p99Ms: 0 })
    expect(await tick()).toMatchObject({ allowed: 0, p99Ms: 0, rules: [] })
  })

  it('is sent to followers with 100 rules, and kept with the ten busiest', async () => {
    const { tick, live } = scene()
    const heard: LiveFrame[] = []
    const leave = live.follow((frame) => heard.push(frame))
    const rules = Array.from({ length: 100 }, (_, i) => ({
      domain: 'api',
      id: `r${i}`,
      allowed: 100 - i,
      refused: 0,
      shadowRefused: 0,
    }))
    await tick(report(1, 0, 1, { rules }))
    leave()
    await tick(report(1, 0))
    expect(heard.map((frame) => frame.rules.length)).toEqual([100])
    expect(live.history(0)[0].rules.map(({ id }) => id)).toEqual(rules.slice(0, 10).map(({ id }) => id))
  })

  it('is kept for an hour, and has a unique time whatever the clock does', async () => {
    const { tick, live, now } = scene()
    for (let i = 0; i < 3_700; i++) await tick(report(i, 0))
    expect(live.history(0)).toHaveLength(3_600)
    expect(live.history(0)[0].allowed).toBe(100)
    now.ms -= 60_000
    const { atMs } = await tick(report(1, 0))
    expect(new Set(live.history(0).map((frame) => frame.atMs)).size).toBe(3_600)
    expect(live.history(atMs - 1)).toHaveLength(1)
  })
})
