import type { Anchor } from './anchor.ts'
import type { AuditLog } from './audit-log.ts'

/** What an AnchorKeeper reports of an anchor: that it cannot be kept, once, and that it can again. */
export interface AnchorEvents {
  failed(anchor: Anchor, reason: string): void
  recovered(anchor: Anchor): void
  /** It knows an entry that the log does not have. It stays as it is, so that a check finds that out. */
  ahead(anchor: Anchor): void
}

/** How often anchors are looked at where nothing changes: another node, or a command, may have changed something. */
const LOOK_EVERY_MS = 10_000
/** How soon the database is looked for that was not there. */
const RETRY_MS = 1_000

type State = 'kept' | 'failing' | 'ahead'

/** An AnchorKeeper brings the end of the log to its anchors after every change. It delays none and fails none. */
export class AnchorKeeper {
  readonly #audit: AuditLog
  readonly #events: AnchorEvents
  readonly #states = new Map<Anchor, State>()
  #timer: NodeJS.Timeout | undefined
  #turn: Promise<void> | undefined
  #isChanged = false
  #hasDatabase = false
  #isClosed = false

  constructor(audit: AuditLog, events: AnchorEvents) {
    this.#audit = audit
    this.#events = events
  }

  start(): void {
    this.#audit.onCommitted = () => {
      this.#isChanged = true
      void this.turn()
    }
    void this.turn()
  }

  /** Whether each anchor has the end of the log. */
  get figures(): readonly { readonly kind: string; readonly isKept: boolean }[] {
    return [...this.#states].map(([{ kind }, state]) => ({ kind, isKept: state === 'kept' }))
  }

  /** Brings the end of the log to all anchors. Never rejects. */
  turn(): Promise<void> {
    this.#turn ??= this.#keepAll().finally(() => {
      this.#turn = undefined
      this.#rest()
    })
    return this.#turn
  }

  #rest(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    const waitMs = this.#isChanged ? 0 : this.#hasDatabase ? LOOK_EVERY_MS : RETRY_MS
    this.#timer = setTimeout(() => void this.turn(), waitMs).unref()
  }

  async #keepAll(): Promise<void> {
    this.#isChanged = false
    // That the database does not answer, others report.
    this.#hasDatabase = await this.#audit.isReachable()
    if (!this.#hasDatabase) return
    const written = this.#audit.anchors.filter(({ replace }) => replace !== undefined)
    await Promise.all(written.map((anchor) => this.#keep(anchor)))
  }

  async #keep(anchor: Anchor): Promise<void> {
    try {
      this.#became(anchor, (await this.#audit.keep(anchor)) ? 'kept' : 'ahead')
    } catch (error) {
      this.#became(anchor, 'failing', error instanceof Error ? error.message : String(error))
    }
  }

  #became(anchor: Anchor, state: State, reason = ''): void {
    const before = this.#states.get(anchor)
    this.#states.set(anchor, state)
    if (state === before) return
    if (state === 'failing') this.#events.failed(anchor, reason)
    else if (state === 'ahead') this.#events.ahead(anchor)
    else if (before !== undefined) this.#events.recovered(anchor)
  }

  /** Brings what was changed last to the anchors, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#audit.onCommitted = () => {}
    clearTimeout(this.#timer)
    await this.#turn
    if (this.#isChanged) await this.turn()
  }
}
