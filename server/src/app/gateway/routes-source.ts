import type { RuleInput } from 'sluice/internal/core/rules/load'
import { Problems, RulesError } from 'sluice/internal/core/rules/problems'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { RuleReceiver, RuleSource } from 'sluice/internal/engine/rule-source'
import { FileSource } from 'sluice/internal/sources/file-source'
import type { GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import type { GatewayConfig } from '../settings/config.ts'
import { readRoutes } from './read-routes.ts'

/** What the command line is called in errors. */
const COMMAND_LINE = 'command line'

/** A routes file as it was read, and what it says. */
export interface RoutesInForce {
  readonly input: RuleInput
  readonly plan: GatewayPlan
}

/**
 * Delivers the limits of a routes file as rules, and its routes when those rules are in force. An invalid file leaves
 * both unchanged.
 */
export class RoutesSource implements RuleSource {
  readonly name: string
  readonly #config: GatewayConfig
  readonly #files: FileSource | undefined
  #receiver: RuleReceiver | undefined
  #current: RoutesInForce | undefined
  /** What is to come into force with its rules. */
  #next: RoutesInForce | undefined
  #rules: (() => RuleSet) | undefined
  #changed: (routes: RoutesInForce) => void = () => {}

  constructor(config: GatewayConfig) {
    this.#config = config
    this.name = config.file ?? COMMAND_LINE
    this.#files = config.file === undefined ? undefined : new FileSource([config.file])
  }

  /** The routes in force. There are some once the source has been started, or start has failed. */
  get current(): RoutesInForce {
    return this.#current as RoutesInForce
  }

  /**
   * The routes file that goes with these rules: the pending one, once its limits are among them. Other processes put it
   * into force together with the rules, so that no request meets routes without their limits.
   */
  inputFor(inputs: readonly RuleInput[]): RuleInput {
    const next = this.#next
    return next?.plan.rules.every((rule) => inputs.includes(rule)) ? next.input : this.current.input
  }

  /**
   * Checks domains from now on, and calls back for every change. Throws where a route asks for rules that do not exist.
   */
  follow(rules: () => RuleSet, changed: (routes: RoutesInForce) => void): void {
    this.#rules = rules
    this.#changed = changed
    this.#requireDomains(this.current.plan)
  }

  start(receiver: RuleReceiver): Promise<boolean> {
    this.#receiver = receiver
    return this.#files === undefined ? this.readNow() : this.#files.start(this.#textReceiver(receiver))
  }

  readNow(): Promise<boolean> {
    if (this.#files !== undefined) return this.#files.readNow()
    return this.#take({ file: COMMAND_LINE, value: this.#config.value })
  }

  stop(): void {
    this.#files?.stop()
  }

  #textReceiver(receiver: RuleReceiver): RuleReceiver {
    return { apply: ([input]) => this.#take(input), refuse: (error) => receiver.refuse(error) }
  }

  async #take(input: RuleInput): Promise<boolean> {
    const receiver = this.#receiver as RuleReceiver
    try {
      const plan = readRoutes(input)
      this.#requireDomains(plan)
      const next = { input, plan }
      this.#next = next
      if (!(await receiver.apply(plan.rules))) return false
      this.#current = next
      this.#changed(next)
      return true
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      receiver.refuse(error)
      return false
    } finally {
      this.#next = undefined
    }
  }

  /** Refuses a domain without rules: a misspelt one would limit nothing. */
  #requireDomains({ domains }: GatewayPlan): void {
    const known = this.#rules?.().domains
    if (known === undefined) return
    const problems = new Problems()
    for (const domain of domains) {
      if (!known.has(domain))
        problems.add('ROUTES_INVALID', this.name, `no rules define the domain ${JSON.stringify(domain)}`)
    }
    problems.throwIfAny()
  }
}
