import { setTimeout as pause } from 'node:timers/promises'
import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Store } from 'sluice/internal/engine/ports'
import type { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { ACTIVITY, FleetActivity } from '../../admin/activity/fleet-activity.ts'
import { PREVIEW } from '../../admin/api/change.ts'
import { AdminParts, PROBLEMS, TIER_USAGE } from '../../admin/api/parts.ts'
import { nameOf, type SeenKeys } from '../../admin/callers/callers.ts'
import { CHANGES, type FileChange, MadeChanges } from '../../admin/changes/made-changes.ts'
import { type CounterStore, memoryCounterStore, peersCounterStore } from '../../admin/counters/counter-store.ts'
import { COUNTERS, Counters, type CountersParts } from '../../admin/counters/counters.ts'
import { MetCounters } from '../../admin/counters/met-counters.ts'
import { FleetQuestions } from '../../admin/fleet/fleet-questions.ts'
import type { ScopedReport } from '../../admin/hot-keys/hot-keys-route.ts'
import type { LiveFrame } from '../../admin/live/live-frames.ts'
import { LIVE, LiveFrames } from '../../admin/live/live-frames.ts'
import { FleetNodes, NODES } from '../../admin/nodes/fleet-nodes.ts'
import { NodeFigures } from '../../admin/nodes/node-figures.ts'
import type { WorkerState } from '../../admin/nodes/node-note.ts'
import { ChangePreview } from '../../admin/preview/change-preview.ts'
import { RecordCheck } from '../../admin/preview/record-problems.ts'
import { FleetCallers, RECENT } from '../../admin/refusals/recent-callers.ts'
import { FleetTop, TOP } from '../../admin/top/fleet-top.ts'
import type { AskProcesses } from '../../observe/reports/reports.ts'
import type { AuditLog } from '../../quotas/audit/audit-log.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'
import { CallerHours } from '../../quotas/usage/caller-hours.ts'
import { TierUsage, type TierUsageParts } from '../../quotas/usage/tier-usage.ts'
import type { Config } from '../settings/config.ts'
import { nodeName } from './node-name.ts'
import { redisCounterStore } from './redis-counter-store.ts'

/** What the views of a node are made of. */
export interface FleetViewsParts {
  readonly config: Config
  readonly rules: () => RuleSet
  /** Undefined: there are no quotas, or none yet. */
  readonly book: () => QuotaBook | undefined
  readonly ask: AskProcesses
  /** Every process that answers requests. */
  readonly workers: () => readonly Omit<WorkerState, 'decisionsPerSecond'>[]
  /** The counters of the only process, where they are in its memory. Undefined: they are in Redis. */
  readonly counters:
    | {
        readonly memory: MemoryStore | undefined
        readonly store: Store
        readonly keys: KeyEncoder
        readonly forget: (key: string) => void
      }
    | undefined
  /** Compiles a text in place of the rules of the API. Default: there is no database to keep them. */
  readonly compiled?: ((text: string) => Promise<RuleSet>) | undefined
  /** Of the program. */
  readonly version: string
  /** The busiest keys of the fleet, or of this node where the fleet cannot be asked. */
  readonly hotKeys: () => Promise<ScopedReport>
  /** Changes of rule files that this node has seen, the newest first. */
  readonly fileChanges: () => readonly FileChange[]
  /** Where the admin port listens, once it does. */
  readonly adminAddress: () => string | undefined
  /** What was written of use, and what waits to be. Default: use is not kept. */
  readonly usageRows?: Pick<TierUsageParts, 'db' | 'waiting' | 'completeUntilMs'> | undefined
  /** Default: there is none. */
  readonly audit?: AuditLog | undefined
  /** Default: there is no database. */
  readonly database?: () => LiveFrame['database']
  /** Resolves with whether the book has what the database has. Default: there is no database. */
  readonly caughtUp?: (() => Promise<boolean>) | undefined
  /** Notes a reset in the audit log. Rejects when that fails: nothing is reset then. Default: there is none. */
  readonly audited?: CountersParts['audited']
}

/** What the admin API shows of a node and its fleet, and does with counters. */
export interface FleetViews {
  readonly parts: AdminParts
  close(): Promise<void>
}

/** How long an end waits for Redis to take the last note. */
const LEAVE_MS = 500

/** Opens what the admin API shows of a node and its fleet. */
export function openFleetViews(parts: FleetViewsParts): FleetViews {
  const { config, rules, book, ask } = parts
  const store = storeOf(parts)
  const seen: SeenKeys = async (ids) => new Map((await ask('seenKeys', ids)).flatMap((each) => Object.entries(each)))
  const counters = new Counters({
    rules,
    book,
    entries: config.callerEntries,
    store,
    seen,
    met: (target) => met.of(target),
    refusedCounters: async (target) => (await ask('refusals', [nameOf(target)])).flat().map(({ counter }) => counter),
    audited: parts.audited ?? (async () => {}),
  })
  const { nodes, live } = openNodes(parts, store)
  const { redis } = store
  const others = () => nodes.ids()
  const questions = new FleetQuestions({ node: nodes.id, redis, others })
  const recent = new FleetCallers({ node: nodes.id, ask, questions })
  const activity = new FleetActivity({ ask, questions, rules, book, isShadow: config.shadowMode })
  const { keys } = store
  const top = new FleetTop({
    hotKeys: parts.hotKeys,
    others,
    ask,
    questions,
    book,
    keys,
    entries: config.callerEntries,
  })
  const met = new MetCounters({
    ...{ recent, book, keys, seen, entries: config.callerEntries },
    hotKeys: async () => (await top.report()).report,
  })
  const changes = new MadeChanges({ audit: parts.audit, files: parts.fileChanges })
  const problems = new RecordCheck({ rules, book, entries: config.callerEntries })
  const { usageRows } = parts
  const tierUsage =
    usageRows && new TierUsage({ ...usageRows, tierOf: (customerId, keyId) => tierIn(book(), customerId, keyId) })
  void questions.listen()
  const countersOf = async (target: Parameters<Counters['countersOf']>[0]) => (await counters.countersOf(target)).length
  const preview = new ChangePreview({
    ...{ rules, book, keys, activity, countersOf, problems },
    caughtUp: parts.caughtUp,
    entries: config.callerEntries,
    hours: usageRows && new CallerHours(usageRows.db),
    isShadow: config.shadowMode,
    ...(parts.compiled && { compiled: parts.compiled }),
  })
  return {
    parts: new AdminParts()
      .with(COUNTERS, counters)
      .with(LIVE, live)
      .with(NODES, nodes)
      .with(PREVIEW, preview)
      .with(RECENT, recent)
      .with(ACTIVITY, activity)
      .with(TOP, top)
      .with(CHANGES, changes)
      .with(PROBLEMS, problems)
      .with(TIER_USAGE, tierUsage),
    async close() {
      live.stop()
      questions.stop()
      await Promise.race([nodes.leave(), pause(LEAVE_MS, undefined, { ref: false })])
      await store.close()
    },
  }
}

/** Starts to make frames, and to send notes about this node. */
function openNodes(parts: FleetViewsParts, store: CounterStore) {
  const { config, rules, book, ask, version } = parts
  const { redis } = store
  const figures = new NodeFigures()
  const nodes = new FleetNodes({
    version,
    name: () => nodeName(config, parts.adminAddress()),
    notes: redis && (async () => (await redis()).nodeNotes),
    state: () => ({
      ruleVersion: rules().version,
      revision: book()?.revision ?? 0,
      store: store.state(),
      adminAddress: parts.adminAddress(),
      ...figures.state(parts.workers()),
    }),
  })
  const live = new LiveFrames({
    collect: async () => figures.heard(await ask('live')),
    nodes,
    state: () => ({ store: store.state(), database: parts.database?.() ?? 'none', ruleVersion: rules().version }),
  })
  live.start()
  return { nodes, live }
}

/** Returns the tier of a caller: the key's tier goes before the customer's. */
function tierIn(book: QuotaBook | undefined, customerId: string, keyId: string | undefined): string | undefined {
  return (keyId === undefined ? undefined : book?.key(keyId)?.ownTier) ?? book?.customer(customerId)?.tier
}

function storeOf({ config, counters }: FleetViewsParts): CounterStore {
  const { redisUrl } = config
  if (redisUrl !== undefined) return redisCounterStore(redisUrl, config)
  if (counters === undefined) throw new Error('counters are neither in memory nor in Redis')
  if (counters.memory === undefined) return peersCounterStore(counters.store, counters.keys, counters.forget)
  return memoryCounterStore(counters.memory, counters.keys, counters.forget)
}
