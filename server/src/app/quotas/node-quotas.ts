import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import { FleetForce } from '../../admin/nodes/fleet-force.ts'
import type { InForce } from '../../quotas/book/in-force.ts'
import type { QuotaOrigin, QuotaSink } from '../../quotas/book/live-quotas.ts'
import type { DatabasePlace } from '../../quotas/database/open-database.ts'
import type { QuotaTable } from '../../quotas/model.ts'
import { keepOpening, type Quotas, quotasAt } from '../../quotas/open/open-quotas.ts'
import { type FeedState, QuotaFeed } from '../../quotas/records/quota-feed.ts'
import { nodeName } from '../admin/node-name.ts'
import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import { anchorsOf } from './audit-anchors.ts'
import { writeFirstToken } from './first-token-file.ts'
import { NodeLedger, openJournal } from './node-ledger.ts'
import { QuotaNotices } from './quota-notices.ts'
import { Readiness } from './readiness.ts'
import { TableRules } from './table-rules.ts'
import { untilRevision } from './until-revision.ts'

/** How long the doors wait for an available PostgreSQL: without the quotas, blocked callers would pass. */
const WAIT_MS = 2_000

/** Faults that waiting does not fix. */
const FATAL: ReadonlySet<ErrorCode> = new Set(['SCHEMA_NEWER', 'SECRET_CHANGED', 'DATABASE_VERSION_UNSUPPORTED'])

/** What a node knows of its quotas, for metrics. */
export interface QuotaFigures {
  readonly records: Readonly<Record<QuotaTable, number>>
  readonly revision: number
  readonly isUp: boolean
  readonly errors: number
  /** How long ago what is in force was last known to be what the database has. */
  readonly ageMs: number
  /** Every process decides by the records. */
  readonly isInForce: boolean
}

/** Makes what a node needs of its database; undefined where it has none. The database itself may be unavailable. */
export async function openNodeQuotas(config: Config, log: Log): Promise<NodeQuotas | undefined> {
  if (config.database === undefined) return undefined
  const { secret, dataDir } = config
  const stores = await quotasAt(config.database, { secret, dataDir, anchors: anchorsOf(config) })
  const isLocal = 'dataDir' in config.database
  const journal = dataDir === undefined || isLocal ? undefined : await openJournal(dataDir, log)
  return new NodeQuotas(config.database, stores, { config, log, ledger: new NodeLedger(stores, log, journal) })
}

interface NodeQuotaParts {
  readonly config: Config
  readonly log: Log
  readonly ledger: NodeLedger
}

/**
 * The database of a node: opened behind the doors, followed, and closed. There is one per node; workers get their
 * quotas from the primary.
 */
export class NodeQuotas implements QuotaOrigin {
  readonly stores: Quotas
  readonly rules: TableRules
  readonly readiness: Readiness
  readonly fleet: FleetForce
  readonly ledger: NodeLedger
  /** What others call this node. */
  name: string
  /** Everything that this node counted before is written. */
  usageUntilMs: () => number = Date.now
  /** Rejects when the database can never be used. */
  readonly failed: Promise<never>
  readonly #isLocal: boolean
  readonly #hasTokens: boolean
  readonly #firstTokenFile: string | undefined
  readonly #notices: QuotaNotices
  readonly #end = new AbortController()
  readonly #feed: QuotaFeed
  readonly #settled: Promise<void>
  #settle = (): void => {}
  #fail: (error: unknown) => void = () => {}
  #sink: QuotaSink | undefined
  #begun: Promise<void> | undefined

  constructor(place: DatabasePlace, stores: Quotas, { config, log, ledger }: NodeQuotaParts) {
    this.stores = stores
    this.ledger = ledger
    this.#isLocal = 'dataDir' in place
    this.#hasTokens = config.adminTokens.length > 0
    this.#firstTokenFile = config.firstTokenFile
    this.#notices = new QuotaNotices(log, this.#isLocal)
    this.name = nodeName(config, undefined)
    this.fleet = new FleetForce({
      table: stores.nodes,
      isAlone: this.#isLocal,
      name: () => this.name,
      usageUntilMs: () => this.usageUntilMs(),
    })
    this.rules = new TableRules(stores.rules)
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.failed = new Promise((_, reject) => {
      this.#fail = reject
    })
    this.failed.catch(() => {})
    const { readyWithinMs } = config
    this.readiness = new Readiness(readyWithinMs, {
      inForce: (revision) => this.#notices.inForce(this.#feed.counts, revision),
      degraded: () => this.#notices.degraded(readyWithinMs),
    })
    this.#feed = new QuotaFeed(stores.store, {
      replaced: (snapshot) => void this.#replaced(snapshot),
      changed: (changes) => this.#sink?.apply(changes),
      stateChanged: (state) => this.#stateChanged(state),
    })
  }

  keySecret(): string {
    try {
      return this.stores.apiKeys.secret
    } catch {
      return ''
    }
  }

  /**
   * Delivers everything to a sink. It waits for the first set where that is available immediately. A PGlite, which
   * takes seconds and a whole processor to start, comes up behind the doors.
   */
  async follow(sink: QuotaSink): Promise<() => void> {
    this.#sink = sink
    if (!this.#isLocal) {
      this.begin()
      await Promise.race([this.#settled, this.failed, waited(WAIT_MS)])
    }
    return () => this.#feed.stop()
  }

  /** Opens the database. It returns without waiting for it. */
  begin(): void {
    this.#begun ??= this.#open().catch((error: unknown) => this.#fail(error))
  }

  async #open(): Promise<void> {
    const opened = await keepOpening(() => this.#attempt(), {
      failed: (error) => {
        if (error instanceof SluiceError && FATAL.has(error.code)) throw error
        this.#notices.away(error as Error, this.#feed.state.kind)
        this.#settle()
      },
      signal: this.#end.signal,
    })
    if (opened === undefined || this.#end.signal.aborted) return
    this.rules.follow((version) => this.readiness.rulesRead(version))
    this.#feed.start()
    this.fleet.start()
  }

  async #attempt(): Promise<true> {
    await this.stores.open()
    if (!this.#hasTokens) await this.#makeFirstToken()
    return true
  }

  async #makeFirstToken(): Promise<void> {
    const { tokens } = this.stores
    const file = this.#firstTokenFile
    if (file !== undefined) {
      try {
        if (await writeFirstToken(tokens, file, Date.now())) this.#notices.firstToken(file)
      } catch (error) {
        // A disk that takes no file is no reason to be without quotas.
        if (!(error instanceof Error && 'syscall' in error)) throw error
        this.#notices.noFirstToken(error.message)
      }
    } else if (!(await tokens.hasAny())) this.#notices.noFirstToken('neither --data nor --first-token-file is set')
  }

  async #replaced(snapshot: Parameters<QuotaSink['load']>[0]): Promise<void> {
    await this.#sink?.load(snapshot)
    this.readiness.read(snapshot.revision)
    this.#settle()
  }

  #stateChanged(state: FeedState): void {
    if (state.kind === 'fresh') this.#notices.back()
    else this.#notices.away(new Error(state.reason), state.kind)
    if (state.kind !== 'fresh') this.#settle()
  }

  /** Notes what every process of the node decides by. */
  has(now: InForce): void {
    this.readiness.has(now)
    this.fleet.has(now)
  }

  /**
   * Resolves with whether everything that was committed until now was read; it waits for that, for a second at most.
   */
  async caughtUp(): Promise<boolean> {
    return untilRevision(await this.stores.store.revision(), () => this.#feed.revision ?? 0, waited)
  }

  figures(): QuotaFigures {
    const { state, revision = 0, counts } = this.#feed
    const ageMs = state.kind === 'fresh' ? 0 : Date.now() - state.sinceMs
    return { records: counts, revision, ...this.stores.health(), ageMs, isInForce: this.readiness.isInForce }
  }

  async close(): Promise<void> {
    this.#end.abort()
    await this.ledger.close()
    this.readiness.close()
    this.rules.stop()
    this.#feed.stop()
    await this.fleet.leave()
    await this.stores.close().catch(() => {})
  }
}

/** Resolves after a while. It keeps the process alive, because nothing else may meanwhile. */
function waited(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
