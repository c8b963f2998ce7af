import { type CompileOptions, NO_RULES } from 'sluice/internal/core/rules/compile'
import { loadRules, type RuleInput } from 'sluice/internal/core/rules/load'
import type { RulePart } from 'sluice/internal/core/rules/packed-rules'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { RuleUnpacker } from 'sluice/internal/core/rules/rule-unpacker'

/** How to ask for the part at a position of a version of the rules. */
type Ask = (version: number, at: number) => void

interface Unpacking {
  readonly version: number
  readonly unpacker: RuleUnpacker
  inForce: () => void
  taken: number
}

/**
 * The rules in force in a worker, already validated by the primary. A few rules are loaded here directly; many come in
 * parts, one at a time, and requests in between are answered by the previous rules.
 */
export class WorkerRules {
  readonly #ask: Ask
  #rules: RuleSet = NO_RULES
  #unpacking: Unpacking | undefined

  constructor(ask: Ask) {
    this.#ask = ask
  }

  readonly current = (): RuleSet => this.#rules

  /** Puts rules into force immediately. */
  apply(inputs: readonly RuleInput[], options: CompileOptions): void {
    this.#unpacking = undefined
    this.#rules = loadRules(inputs, options)
  }

  /**
   * Announces a version that arrives in parts. The remaining parts of an earlier one are no longer wanted. `inForce` is
   * called in the turn in which it comes into force.
   */
  announce(version: number, inForce: () => void = () => {}): void {
    this.#unpacking = { version, unpacker: new RuleUnpacker(), taken: 0, inForce }
    this.#ask(version, 0)
  }

  /**
   * Calls back when the version that is arriving in parts is in force, in place of the previous callback; immediately
   * if none is arriving.
   */
  whenInForce(run: () => void): void {
    if (this.#unpacking === undefined) run()
    else this.#unpacking.inForce = run
  }

  /** Returns whether that was the last part: the version is in force. */
  take(version: number, part: RulePart): boolean {
    const unpacking = this.#unpacking
    if (unpacking?.version !== version) return false
    const rules = unpacking.unpacker.add(part)
    unpacking.taken++
    if (rules === undefined) {
      // Requests have their turn first.
      setImmediate(() => this.#askAgain(version))
      return false
    }
    this.#rules = rules
    this.#unpacking = undefined
    unpacking.inForce()
    return true
  }

  #askAgain(version: number): void {
    if (this.#unpacking?.version === version) this.#ask(version, this.#unpacking.taken)
  }
}
