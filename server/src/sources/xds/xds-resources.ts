import { setImmediate as nextTurn } from 'node:timers/promises'
import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleObject } from 'sluice/internal/core/rules/load'
import { RulesError } from 'sluice/internal/core/rules/problems'
import { MalformedMessage } from '../../protobuf/reader.ts'
import type { DecodeBudget } from './decode-budget.ts'
import { type DiscoveryResponse, decodeResponse, type Resource, TYPE_URL } from './discovery.ts'
import { decodeConfig } from './rate-limit-config.ts'

/** Descriptors and values of all resources together: 100,000 rules have about this many. */
const MAX_PARTS = 500_000
const MAX_NAME = 200
/** How long resources are read before others have their turn. */
const MAX_TURN_MS = 1

/** A response whose resources were read, or what is wrong with them. */
export interface Answer extends Pick<DiscoveryResponse, 'version' | 'nonce'> {
  readonly inputs: readonly RuleObject[] | RulesError
}

interface Read {
  readonly bytes: Buffer
  readonly input: RuleObject
}

/**
 * Reads responses. A resource that did not change is the same input as before, so that rules that are in force are
 * known to be.
 */
export class XdsResources {
  readonly #source: string
  #read: ReadonlyMap<string, Read> = new Map()

  constructor(source: string) {
    this.#source = source
  }

  /**
   * Reads a response, with turns for others between resources. It is undefined where that is about something else, and
   * rejects with a MalformedMessage.
   */
  async answerOf(message: Buffer): Promise<Answer | undefined> {
    const { version, nonce, typeUrl, resources } = decodeResponse(message)
    return typeUrl === TYPE_URL ? { version, nonce, inputs: await this.#inputsOf(resources) } : undefined
  }

  /** Has resources in the order of their names: they come in any. One that is wrong spoils all of them. */
  async #inputsOf(resources: readonly Resource[]): Promise<readonly RuleObject[] | RulesError> {
    const budget = { parts: MAX_PARTS }
    let turnMs = performance.now()
    const read: Read[] = []
    for (const [i, resource] of resources.entries()) {
      try {
        read.push(this.#readOf(resource, budget))
        if (performance.now() - turnMs < MAX_TURN_MS) continue
        await nextTurn()
        turnMs = performance.now()
      } catch (error) {
        if (!(error instanceof MalformedMessage)) throw error
        const where = `${this.#source}, resource ${i + 1} of ${resources.length}`
        return new RulesError([new SluiceError('XDS_RESOURCE_INVALID', where, error.message)])
      }
    }
    this.#read = new Map(read.map((each) => [each.input.file, each]))
    return read.map(({ input }) => input).sort((a, b) => (a.file < b.file ? -1 : 1))
  }

  #readOf({ typeUrl, value }: Resource, budget: DecodeBudget): Read {
    if (typeUrl !== TYPE_URL) throw new MalformedMessage('it is not a RateLimitConfig')
    const { name, value: rules } = decodeConfig(value, budget)
    const file = `${this.#source}, resource ${JSON.stringify(name.slice(0, MAX_NAME))}`
    const known = this.#read.get(file)
    if (known?.bytes.equals(value)) return known
    // A copy: the message is not kept.
    return { bytes: Buffer.from(value), input: { file, value: rules } }
  }
}
