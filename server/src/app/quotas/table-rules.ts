import type { RuleInput } from 'sluice/internal/core/rules/load'
import type { RuleReceiver, RuleSource } from 'sluice/internal/engine/rule-source'
import { ThreadLoader } from 'sluice/internal/sources/thread-loader'
import { RULES_TABLE } from '../../quotas/book/in-force.ts'
import { Turns } from '../../quotas/database/turns.ts'
import type { RuleFigures, RuleTable } from '../../quotas/tables/rule-table.ts'
import { compileOptionsOf } from '../settings/compatibility.ts'
import type { Config } from '../settings/config.ts'

/** How often it is checked whether there is a version whose notice was lost. */
const LOOK_EVERY_MS = 30_000

/**
 * The rules that were put through the API: a source in addition to the files. It has nothing until the database is
 * open, so that a service starts with its files alone, and keeps what it had while the database is unavailable.
 */
export class TableRules implements RuleSource {
  readonly name = RULES_TABLE
  readonly #table: RuleTable
  readonly #config: Pick<Config, 'mergeDomains' | 'compatibility'>
  readonly #loader = new ThreadLoader()
  readonly #turns = new Turns()
  #receiver: RuleReceiver | undefined
  #unfollow: (() => void) | undefined
  #looking: NodeJS.Timeout | undefined
  #isStopped = false
  #version = 0

  constructor(table: RuleTable, config: Pick<Config, 'mergeDomains' | 'compatibility'>) {
    this.#table = table
    this.#config = config
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

  /** Has texts that are put compiled together with other inputs. */
  checkTogetherWith(inputs: () => readonly RuleInput[]): void {
    this.#table.checkWith((text) => this.#turns.take(() => this.#check(inputs(), text)))
  }

  async #check(inputs: readonly RuleInput[], text: string): Promise<RuleFigures> {
    const options = compileOptionsOf(this.#config.mergeDomains, this.#config.compatibility)
    const own = { file: RULES_TABLE, text }
    const others = inputs.filter(({ file }) => !file.startsWith(`${RULES_TABLE}, version `))
    await this.#loader.load([...others, own], options)
    const { rules } = await this.#loader.load([own], options)
    return { limits: rules.ruleCount, domains: [...rules.domains.keys()] }
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
    this.#loader.close()
  }
}
