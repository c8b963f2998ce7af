import { setTimeout as pause } from 'node:timers/promises'
import type { KeySpeller } from 'sluice/internal/core/key-speller'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import type { AdminPorts } from '../../edge/admin/open-admin-api.ts'
import { byShare } from '../../observe/live/near-limits.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import type { LiveFrame, RecentCallers, UsageStore, WorkerState } from '../../quotas/ports.ts'
import { type CounterDeskParts, Desk } from '../desk/counter-desk.ts'
import { type DeskStore, memoryDeskStore } from '../desk/desk-store.ts'
import { nameOf } from '../desk/process-desk.ts'
import type { PlainReportName, Reports } from '../doors/reports.ts'
import { compileOptionsOf } from '../settings/compatibility.ts'
import type { Config } from '../settings/config.ts'
import { ChangePreview } from './change-preview.ts'
import { FleetNodes } from './fleet-nodes.ts'
import { LiveFrames } from './live-frames.ts'
import { redisDeskStore } from './redis-desk-store.ts'

/** DeskParts are what the desk of a node is made of. */
export interface DeskParts {
  readonly config: Config
  readonly rules: () => RuleSet
  /** Undefined: there are no quotas, or none yet. */
  readonly book: () => QuotaBook | undefined
  /** ask returns a report of every process that answers requests. */
  readonly ask: <Name extends PlainReportName>(
    name: Name,
    about?: readonly string[],
  ) => MaybePromise<readonly Reports[Name][]>
  /** Every process that answers requests. */
  readonly workers: () => readonly Omit<WorkerState, 'decisionsPerSecond'>[]
  /** The counters of the only process, where they are in its memory. Undefined: they are in Redis. */
  readonly counters: { readonly memory: MemoryStore | undefined; readonly keys: KeySpeller } | undefined
  /** Of the program. */
  readonly version: string
  /** What was used. Default: nobody knows. */
  readonly usage?: UsageStore | undefined
  /** Default: there is no database. */
  readonly database?: () => LiveFrame['database']
  /** audited notes a reset in the audit log. It rejects when that cannot be done: nothing is reset then. Default: there is none. */
  readonly audited?: CounterDeskParts['audited']
}

export type DeskPorts = Required<Pick<AdminPorts, 'counters' | 'live' | 'nodes' | 'preview' | 'recent'>>

/** An OpenDesk is what the admin API shows of a node and its fleet, and does with counters. */
export interface OpenDesk {
  readonly ports: DeskPorts
  close(): Promise<void>
}

/** How long an end waits for Redis to take the last note. */
const LEAVE_MS = 500

/** openDesk begins to make frames, and to tell other nodes of this one. */
export function openDesk(parts: DeskParts): OpenDesk {
  const { config, rules, book, ask, workers, usage, version } = parts
  const store = storeOf(parts)
  const counters = new Desk({
    rules,
    book,
    entries: config.callerEntries,
    store,
    seen: async (ids) => new Map((await ask('seenKeys', ids)).flatMap((each) => Object.entries(each))),
    refusedCounters: async (target) => (await ask('refusals', [nameOf(target)])).flat().map(({ counter }) => counter),
    audited: parts.audited ?? (async () => {}),
  })
  const { redis } = store
  const nodes = new FleetNodes({
    version,
    notes: redis && (async () => (await redis()).nodeNotes),
    state: () => ({
      ruleVersion: rules().version,
      revision: book()?.revision ?? 0,
      store: store.state(),
      circuit: undefined,
      decisionsPerSecond: 0,
      memoryBytes: process.memoryUsage.rss(),
      eventLoopDelayMs: undefined,
      adminAddress: undefined,
      workers: workers().map((each) => ({ ...each, decisionsPerSecond: undefined })),
    }),
  })
  const live = new LiveFrames({
    collect: () => ask('live'),
    nodes,
    state: () => ({
      store: store.state(),
      database: parts.database?.() ?? 'none',
      ruleVersion: rules().version,
    }),
  })
  live.start()
  const countersOf = async (target: Parameters<Desk['countersOf']>[0]) => (await counters.countersOf(target)).length
  const preview = new ChangePreview({
    ...{ rules, book, usage, countersOf },
    compile: compileOptionsOf(config.mergeDomains, config.compatibility),
  })
  return {
    ports: { counters, live, nodes, preview, recent: recentOf(ask, nodes.id) },
    async close() {
      live.stop()
      await Promise.race([nodes.leave(), pause(LEAVE_MS, undefined, { ref: false })])
      await store.close()
    },
  }
}

function storeOf({ config, counters }: DeskParts): DeskStore {
  const { redisUrl } = config
  if (redisUrl !== undefined) return redisDeskStore(redisUrl, config)
  if (counters?.memory === undefined) throw new Error('counters are neither in memory nor in Redis')
  return memoryDeskStore(counters.memory, counters.keys)
}

/** recentOf merges what the processes of this node remember. */
function recentOf(ask: DeskParts['ask'], node: string): RecentCallers {
  return {
    refusals: async (_scope, of) => {
      const all = (await ask('refusals', of === undefined ? [] : [nameOf(of)])).flat()
      const items = [...all].sort((a, b) => b.atMs - a.atMs).map((each) => ({ ...each, node }))
      return { items, nodes: 1, nodesLeftOut: 0 }
    },
    nearLimits: async () => {
      const all = (await ask('nearLimits')).flat()
      // Several workers may have seen the same counter: the last to have seen it knows best.
      const newest = new Map<string, (typeof all)[number]>()
      for (const each of [...all].sort((a, b) => a.atMs - b.atMs))
        newest.set(`${each.domain} ${each.rule} ${each.key}`, each)
      const items = [...newest.values()].sort(byShare).map((each) => ({ ...each, node }))
      return { items, nodes: 1, nodesLeftOut: 0 }
    },
  }
}
