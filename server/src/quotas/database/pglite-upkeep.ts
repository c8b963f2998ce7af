export interface UpkeepOptions {
  /** How often to look whether there is something to do. */
  readonly upkeepEveryMs?: number
  /** A look is due after so many pieces of work, too. */
  readonly upkeepEveryWorks?: number
  /** The log of changes is folded into the tables when it has grown by so much. */
  readonly checkpointBytes?: number
  readonly vacuumEveryMs?: number
}

/**
 * Does what PostgreSQL has processes for and PGlite does not: checkpoints, without which the write-ahead log grows for
 * ever, and vacuum, without which tables do.
 */
export class PgliteUpkeep {
  readonly #run: (sql: string) => Promise<readonly unknown[]>
  readonly #everyMs: number
  readonly #everyWorks: number
  readonly #checkpointBytes: number
  readonly #vacuumEveryMs: number
  #timer: NodeJS.Timeout | undefined
  #works = 0
  #isBusy = false
  #logAt = 0
  #logAtVacuum = 0
  #vacuumedAtMs = performance.now()

  constructor(run: (sql: string) => Promise<readonly unknown[]>, options: UpkeepOptions) {
    this.#run = run
    this.#everyMs = options.upkeepEveryMs ?? 30_000
    this.#everyWorks = options.upkeepEveryWorks ?? 1000
    this.#checkpointBytes = options.checkpointBytes ?? 32 * 1024 * 1024
    this.#vacuumEveryMs = options.vacuumEveryMs ?? 60 * 60_000
  }

  /** Counts a piece of work. A database that is not in use is left alone. */
  worked(): void {
    if (this.#isBusy) return
    this.#works++
    this.#timer ??= setTimeout(() => void this.#look(), this.#everyMs).unref()
    if (this.#works >= this.#everyWorks) void this.#look()
  }

  async #look(): Promise<void> {
    if (this.#isBusy) return
    this.stop()
    this.#isBusy = true
    this.#works = 0
    try {
      const [row] = await this.#run("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::int8 AS at")
      await this.#fold((row as { at: number }).at)
    } catch {
      // It is unavailable. Its next work brings the next look.
    } finally {
      this.#isBusy = false
    }
  }

  async #fold(at: number): Promise<void> {
    if (at - this.#logAt >= this.#checkpointBytes) {
      await this.#run('CHECKPOINT')
      this.#logAt = at
    }
    if (at !== this.#logAtVacuum && performance.now() - this.#vacuumedAtMs >= this.#vacuumEveryMs) {
      await this.#run('VACUUM (ANALYZE)')
      this.#vacuumedAtMs = performance.now()
      this.#logAtVacuum = at
    }
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
