import type { RuleInput } from '../core/rules/load.ts'
import { RulesError } from '../core/rules/problems.ts'
import type { MaybePromise } from './ports.ts'
import type { LoadedRules, RuleReceiver, RuleSource } from './rule-source.ts'

/**
 * What MergedSources puts rules into. `by` is the source that delivered them: refusals are reported and forgotten per
 * source.
 */
export interface RuleTarget {
  load(inputs: readonly RuleInput[]): MaybePromise<LoadedRules>
  isInForce(inputs: readonly RuleInput[], by: object): boolean
  adopt(loaded: LoadedRules, inputs: readonly RuleInput[], by: readonly object[]): void
  refuse(error: RulesError, by: object): void
}

/** A source with what it delivered last, and what of it is in force. */
interface Slot {
  readonly source: RuleSource
  newest: readonly RuleInput[] | undefined
  accepted: readonly RuleInput[] | undefined
  isReadable: boolean
}

/**
 * Makes one set of what several sources deliver. The inputs of all of them are compiled together, so that a domain, or
 * a key, that two of them define is an error as it is between two files. A source that is wrong holds none of the
 * others up: where the newest rules of all sources do not fit together, the newest of the source that has just
 * delivered are tried with the others' rules in force.
 */
export class MergedSources {
  readonly #slots: readonly Slot[]
  readonly #target: RuleTarget
  #isStarted = false
  #isStopped = false
  #lastTurn: Promise<unknown> = Promise.resolve()

  constructor(sources: readonly RuleSource[], target: RuleTarget) {
    this.#slots = sources.map((source) => ({ source, newest: undefined, accepted: undefined, isReadable: true }))
    this.#target = target
  }

  /** Starts all sources, and loads what they say once all have been read. It returns whether that is in force. */
  async start(): Promise<boolean> {
    await Promise.all(this.#slots.map((slot) => slot.source.start(this.#receiver(slot))))
    this.#isStarted = true
    return this.#slots.every(({ newest }) => newest !== undefined) && this.#inTurn(() => this.#takeFirst())
  }

  async readNow(): Promise<boolean> {
    const areGood = await Promise.all(this.#slots.map(({ source }) => source.readNow()))
    return areGood.every(Boolean)
  }

  stop(): void {
    this.#isStopped = true
    for (const { source } of this.#slots) source.stop()
  }

  #receiver(slot: Slot): RuleReceiver {
    return {
      apply: (inputs) => {
        slot.newest = inputs
        slot.isReadable = true
        // Before all sources have been read, there is nothing to merge.
        return this.#isStarted ? this.#inTurn(() => this.#take(slot)) : true
      },
      refuse: (error) => {
        slot.isReadable = false
        if (!this.#isStopped) this.#target.refuse(error, slot)
      },
    }
  }

  /** Does one thing at a time, so that rules come into force in the order in which they were delivered. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work)
    this.#lastTurn = turn.catch(() => undefined)
    return turn
  }

  /** Puts into force what one source delivered: with the newest of the others, or else with what they had. */
  async #take(slot: Slot): Promise<boolean> {
    const others = this.#slots.filter((each) => each !== slot)
    if (others.some(({ newest }) => newest === undefined)) return false
    const canBeAlone = others.some(isPending) && others.every(({ accepted }) => accepted !== undefined)
    const result = await this.#takeAll(slot)
    if (typeof result === 'boolean' || !canBeAlone) return this.#settled(result, slot)
    const inputs = this.#inputs((each) => (each === slot ? each.newest : each.accepted))
    return this.#settled(await this.#tried(inputs, [slot]), slot)
  }

  async #takeFirst(): Promise<boolean> {
    return this.#settled(await this.#takeAll(this), this)
  }

  /** Puts into force what all sources delivered last, or returns what is wrong with it. */
  async #takeAll(by: object): Promise<boolean | RulesError> {
    const inputs = this.#inputs((each) => each.newest)
    if (!this.#target.isInForce(inputs, by)) return this.#tried(inputs, this.#slots)
    for (const slot of this.#slots) slot.accepted = slot.newest
    return true
  }

  #inputs(of: (slot: Slot) => readonly RuleInput[] | undefined): readonly RuleInput[] {
    return this.#slots.flatMap((slot) => of(slot) ?? [])
  }

  /** Reports a refusal. */
  #settled(result: boolean | RulesError, by: object): boolean {
    if (typeof result === 'boolean') return result
    this.#target.refuse(result, by)
    return false
  }

  /** Puts inputs into force, the newest of some slots among them, or returns what is wrong with them. */
  async #tried(inputs: readonly RuleInput[], of: readonly Slot[]): Promise<boolean | RulesError> {
    const taken = of.map((slot) => ({ slot, newest: slot.newest }))
    try {
      const loaded = await this.#target.load(inputs)
      if (this.#isStopped) return false
      for (const { slot, newest } of taken) slot.accepted = newest
      this.#target.adopt(loaded, inputs, [this, ...of.filter(({ isReadable }) => isReadable)])
      return true
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      return this.#isStopped ? false : error
    }
  }
}

/** Returns whether a source delivered something that is not in force. */
function isPending({ newest, accepted }: Slot): boolean {
  return newest !== accepted
}
