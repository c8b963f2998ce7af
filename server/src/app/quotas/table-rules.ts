import type { RuleReceiver, RuleSource } from 'sluice/internal/engine/rule-source'
import { RULES_TABLE } from '../../quotas/book/in-force.ts'
import type { RuleCheck, RuleTable } from '../../quotas/tables/rule-table.ts'

/** How often it is checked whether there is a version whose notice was lost. */
const LOOK_EVERY_MS = 30_000

/**
 * The rules that were put through the API: a source in addition to the files. It has nothing until the database is
 * open, so that a service starts with its files alone, and keeps what it had while the database is unavailable.
 */
export class TableRules implements RuleSource {
  readonly name = RULES_TABLE
  readonly #table: RuleTable
  #receiver: RuleReceiver | undefined
  #unfollow: (() => void) | undefined
  #looking: NodeJS.Timeout | undefined
  #isStopped = false
  #version = 0

  constructor(table: RuleTable) {
    this.#table = table
  }

  async start(receiver: RuleReceiver): Promise<boolean> {
    this.#receiver = receiver
    return receiver.apply([])
  }

  /**
   * Starts to read, when the database is open. Texts are checked together with what the other sources have. After each
   * read, `read` receives the version that is in force in this process; 0: none was read, or what was read is invalid.
   */
  follow(read: (version: number) => void): void {
    if (this.#isStopped) return
    const look = (): void =>
      void this.#read().then(
        () => read(this.#version),
        () => {},
      )
    this.#unfollow = this.#table.follow(look)
    this.#looking = setInterval(look, LOOK_EVERY_MS).unref()
    look()
  }

  /** Sets what compiles texts that are put, together with the rules of files. */
  checkWith(check: RuleCheck): void {
    this.#table.checkWith(check)
  }

  async readNow(): Promise<boolean> {
    // While the database is unavailable, what it had stays: that is no fault of the rules.
    return this.#unfollow === undefined ? true : this.#read().catch(() => true)
  }

  async #read(): Promise<boolean> {
    const active = await this.#table.read()
    if (this.#isStopped || this.#receiver === undefined) return false
    const inputs =
      active === undefined ? [] : [{ file: `${RULES_TABLE}, version ${active.version}`, text: active.text }]
    const isInForce = await this.#receiver.apply(inputs)
    if (isInForce) this.#version = active?.version ?? 0
    return isInForce
  }

  stop(): void {
    this.#isStopped = true
    this.#unfollow?.()
    clearInterval(this.#looking)
  }
}
