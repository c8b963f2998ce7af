import type { NodeHealth } from '../../edge/health/health.ts'
import { hasReached, type InForce, NOTHING_IN_FORCE } from '../../quotas/book/in-force.ts'

export interface ReadinessEvents {
  /** Every process decides by the records that there were at the start. Called once. */
  inForce(revision: number): void
  /** The time is over, and they do not. Called at most once. */
  degraded(): void
}

const WAITING = 'the records of the database are not in force yet'

/**
 * Decides whether a node with a database may take requests: when all of its processes have the records, or time is
 * over.
 */
export class Readiness {
  readonly #events: ReadinessEvents
  #watcher: (health: NodeHealth) => void = () => {}
  #resolve = (): void => {}
  /** Resolves when the node may take requests. */
  readonly ready = new Promise<void>((resolve) => {
    this.#resolve = resolve
  })
  #timeout: NodeJS.Timeout | undefined
  /** What was in the database at the start; undefined: it was not read yet. */
  #records: number | undefined
  #rules: number | undefined
  #now = NOTHING_IN_FORCE
  #state: 'waiting' | 'in force' | 'degraded' = 'waiting'

  constructor(withinMs: number, events: ReadinessEvents) {
    this.#events = events
    this.#timeout = setTimeout(() => this.#giveUp(), withinMs).unref()
  }

  get health(): NodeHealth {
    return {
      unready: this.#state === 'waiting' ? WAITING : '',
      degraded: this.#state === 'degraded' ? WAITING : '',
    }
  }

  get isInForce(): boolean {
    return this.#state === 'in force'
  }

  /** Reports `health`, now and whenever it changes. */
  watch(watcher: (health: NodeHealth) => void): void {
    this.#watcher = watcher
    watcher(this.health)
  }

  /** Notes the revision of the records, whenever all of them were read. */
  read(revision: number): void {
    this.#records ??= revision
    this.#look()
  }

  /** Notes the version of the rules that were read, or 0 where there are none, or invalid ones. */
  rulesRead(version: number): void {
    this.#rules ??= version
    this.#look()
  }

  /** Notes what all processes have. */
  has(now: InForce): void {
    this.#now = now
    this.#look()
  }

  close(): void {
    clearTimeout(this.#timeout)
  }

  #look(): void {
    const [revision, rules] = [this.#records, this.#rules]
    if (this.#state === 'in force' || revision === undefined || rules === undefined) return
    if (!hasReached(this.#now, { revision, rules })) return
    this.#events.inForce(this.#now.revision)
    this.#become('in force')
  }

  #giveUp(): void {
    if (this.#state !== 'waiting') return
    this.#events.degraded()
    this.#become('degraded')
  }

  #become(state: 'in force' | 'degraded'): void {
    this.close()
    this.#state = state
    this.#watcher(this.health)
    this.#resolve()
  }
}
