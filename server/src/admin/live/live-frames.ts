import type { MaybePromise } from 'sluice/internal/engine/ports'
import { LATENCY_BUCKETS, quantileMs } from '../../observe/live/latencies.ts'
import { type LiveReport, type LiveRuleCounts, MAX_LIVE_RULES } from '../../observe/live/live-report.ts'
import { byRequests } from '../../observe/live/live-tally.ts'
import { partKey } from '../api/parts.ts'
import type { FleetNodes } from '../nodes/fleet-nodes.ts'
import type { Figures } from '../nodes/node-note.ts'

/** A LiveFrame is one second of the whole service. */
export interface LiveFrame {
  readonly atMs: number
  readonly allowed: number
  readonly refused: number
  readonly shadowRefused: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly nodes: number
  readonly nodesAway: number
  readonly store: 'memory' | 'up' | 'away'
  readonly database: 'none' | 'up' | 'away'
  readonly ruleVersion: string
  /** The busiest, at most 100. */
  readonly rules: readonly LiveRuleCounts[]
}

const SECOND_MS = 1_000
/** An hour. */
const KEPT_FRAMES = 3_600
/** Rules of a frame that is kept: an hour of a hundred would be tens of megabytes. */
const KEPT_RULES = 10

export interface LiveFramesParts {
  /** collect returns what each process that answers requests decided since the last time. */
  readonly collect: () => MaybePromise<readonly LiveReport[]>
  readonly nodes: Pick<FleetNodes, 'beat' | 'others'>
  /** What a frame says of this node at the moment. */
  readonly state: () => Pick<LiveFrame, 'store' | 'database' | 'ruleVersion'>
  readonly nowMs?: () => number
}

/** Makes a frame each second, of this node and of what other nodes last reported. The last hour is kept in memory. */
export class LiveFrames {
  readonly #parts: LiveFramesParts
  readonly #nowMs: () => number
  readonly #kept: LiveFrame[] = []
  readonly #followers = new Set<(frame: LiveFrame) => void>()
  #timer: NodeJS.Timeout | undefined
  #isTicking = false

  constructor(parts: LiveFramesParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? Date.now
  }

  start(): void {
    this.#timer = setInterval(() => void this.tick(), SECOND_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  history(sinceMs: number): readonly LiveFrame[] {
    return this.#kept.filter(({ atMs }) => atMs > sinceMs)
  }

  follow(heard: (frame: LiveFrame) => void): () => void {
    this.#followers.add(heard)
    return () => this.#followers.delete(heard)
  }

  /**
   * tick makes a frame. A process that does not answer keeps the next second waiting, and is in a later frame. It never
   * rejects.
   */
  async tick(): Promise<void> {
    if (this.#isTicking) return
    this.#isTicking = true
    try {
      const own = figuresOf(await this.#parts.collect())
      void this.#parts.nodes.beat(own)
      this.#add(this.#frameOf(own))
    } finally {
      this.#isTicking = false
    }
  }

  #frameOf(own: Figures): LiveFrame {
    const { there, away } = this.#parts.nodes.others()
    const last = this.#kept.at(-1)?.atMs ?? 0
    const sums = sumOf([own, ...there])
    // Frames are named by their time: none is named twice, whatever happens to the clock.
    const atMs = Math.max(this.#nowMs(), last + 1)
    return { atMs, ...sums, nodes: 1 + there.length + away, nodesAway: away, ...this.#parts.state() }
  }

  #add(frame: LiveFrame): void {
    this.#kept.push(frame.rules.length > KEPT_RULES ? { ...frame, rules: frame.rules.slice(0, KEPT_RULES) } : frame)
    if (this.#kept.length > KEPT_FRAMES) this.#kept.shift()
    for (const heard of this.#followers) heard(frame)
  }
}

/** figuresOf adds up the processes of a node. */
export function figuresOf(reports: readonly LiveReport[]): Figures {
  const latencies = new Array<number>(LATENCY_BUCKETS).fill(0)
  for (const report of reports) {
    report.latencies.forEach((count, at) => {
      latencies[at] += count
    })
  }
  const totals = sums(reports)
  return { ...totals, p50Ms: quantileMs(latencies, 0.5), p99Ms: quantileMs(latencies, 0.99) }
}

/** Adds up nodes. Each node reports two times: p99 is that of the slowest node, p50 the mean of theirs by requests. */
function sumOf(nodes: readonly Figures[]): Figures {
  const requests = nodes.reduce((sum, { allowed, refused }) => sum + allowed + refused, 0)
  const weighed = nodes.reduce((sum, { allowed, refused, p50Ms }) => sum + (allowed + refused) * p50Ms, 0)
  return {
    ...sums(nodes),
    p50Ms: requests === 0 ? 0 : Number((weighed / requests).toPrecision(3)),
    p99Ms: Math.max(...nodes.map(({ p99Ms }) => p99Ms)),
  }
}

function sums(parts: readonly Pick<Figures, 'allowed' | 'refused' | 'shadowRefused' | 'rules'>[]) {
  const total = (of: (part: (typeof parts)[number]) => number): number => parts.reduce((sum, each) => sum + of(each), 0)
  return {
    allowed: total(({ allowed }) => allowed),
    refused: total(({ refused }) => refused),
    shadowRefused: total(({ shadowRefused }) => shadowRefused),
    rules: mergeRules(parts.map(({ rules }) => rules)),
  }
}

function mergeRules(lists: readonly (readonly LiveRuleCounts[])[]): readonly LiveRuleCounts[] {
  if (lists.length === 1) return lists[0]
  const byName = new Map<string, LiveRuleCounts>()
  for (const rule of lists.flat()) {
    const name = `${rule.domain} ${rule.id}`
    const known = byName.get(name)
    byName.set(
      name,
      known === undefined
        ? rule
        : {
            ...rule,
            allowed: known.allowed + rule.allowed,
            refused: known.refused + rule.refused,
            shadowRefused: known.shadowRefused + rule.shadowRefused,
          },
    )
  }
  return [...byName.values()].sort(byRequests).slice(0, MAX_LIVE_RULES)
}

export const LIVE = partKey<Pick<LiveFrames, 'history' | 'follow'>>('live')
