import type { SecureContext } from 'node:tls'
import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleText } from 'sluice/internal/core/rules/load'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { RuleReceiver } from 'sluice/internal/engine/rule-source'
import { type RemoteSource, SourceFault, type SourceFigures, SourceHealth } from '../remote-source.ts'
import { awayError, fallbackOf, problemOf, type StartOptions } from '../start.ts'
import { after, type Schedule } from '../timing.ts'
import { fetchRules, type RulesAnswer, type Validators } from './fetch-rules.ts'

export interface UrlSourceOptions extends StartOptions {
  /** What people call it. It shows no credentials. */
  readonly name: string
  readonly url: URL
  readonly pollMs: number
  readonly timeoutMs: number
  /**
   * Returns the token for the server, read before each request. It may throw a SourceFault, and so may secureContext.
   */
  token?(): string | undefined
  secureContext?(): SecureContext | undefined
  readonly schedule?: Schedule
  /** From 0 to 1. */
  readonly random?: () => number
}

/**
 * Delivers the rules at an address, and polls it for changes. While the address is unreachable, or serves invalid
 * rules, the last good rules stay in force.
 */
export class UrlSource implements RemoteSource {
  readonly name: string
  readonly #options: UrlSourceOptions
  readonly #health: SourceHealth
  readonly #stopping = new AbortController()
  #receiver: RuleReceiver | undefined
  #cancel: (() => void) | undefined
  /** The version that was read last, and what it said, in force or not. */
  #known: Validators | undefined
  #inputs: readonly RuleText[] = []
  #isInForce = false
  #isKept = false
  #retryAfterMs = 0
  #lastTurn: Promise<unknown> = Promise.resolve()

  constructor(options: UrlSourceOptions) {
    this.name = options.name
    this.#options = options
    this.#health = new SourceHealth(options.name, options.events ?? {})
  }

  figures(): SourceFigures {
    return this.#health.figures()
  }

  async start(receiver: RuleReceiver): Promise<boolean> {
    this.#receiver = receiver
    const first = await this.#first()
    if (first instanceof RulesError) {
      receiver.refuse(first)
      return false
    }
    this.#inputs = first
    this.#isInForce = await receiver.apply(first)
    this.#again()
    return this.#isInForce
  }

  readNow(): Promise<boolean> {
    return this.#inTurn(() => this.#look(true))
  }

  stop(): void {
    this.#stopping.abort()
    this.#cancel?.()
  }

  /** Returns what a start goes by. */
  async #first(): Promise<readonly RuleText[] | RulesError> {
    const answer = await this.#ask().catch(asFault)
    const found = answer instanceof SourceFault ? awayError(this.name, answer) : [this.#inputOf(answer?.text ?? '')]
    const fallback = await fallbackOf(this.name, this.#options, async ({ body }) => [this.#inputOf(body.toString())])
    const isFound = !(found instanceof RulesError)
    const problem = isFound ? fallback && problemOf(found, this.#options) : found
    if (answer instanceof SourceFault) this.#health.away(answer.message)
    else if (problem !== undefined) this.#health.refused()
    else this.#known = answer
    if (problem === undefined || fallback === undefined) return found
    fallback.log(problem)
    return fallback.inputs
  }

  started(): void {
    if (this.#known !== undefined) this.#keep()
  }

  #inputOf(text: string): RuleText {
    return { file: this.name, text }
  }

  async #ask(): Promise<RulesAnswer> {
    const { url, timeoutMs } = this.#options
    const [token, secureContext] = [this.#options.token?.(), this.#options.secureContext?.()]
    return fetchRules({ url, timeoutMs, signal: this.#stopping.signal, known: this.#known, token, secureContext })
  }

  /** Fetches the address, and puts its rules in force. `isAsked`: a caller waits for the answer. */
  async #look(isAsked: boolean): Promise<boolean> {
    const answer = await this.#ask().catch(asFault)
    if (this.#stopping.signal.aborted) return false
    if (answer instanceof SourceFault) {
      this.#retryAfterMs = answer.retryAfterMs
      this.#health.away(answer.message, isAsked)
      return false
    }
    this.#retryAfterMs = 0
    this.#health.answered()
    try {
      return await this.#take(answer)
    } catch (error) {
      this.#receiver?.refuse(new RulesError([new SluiceError('RELOAD_FAILED', this.name, String(error))]))
      return false
    }
  }

  /** Applies what is new, and what was refused: what stood in its way may be gone. */
  async #take(answer: RulesAnswer): Promise<boolean> {
    if (answer !== undefined) {
      this.#known = answer
      if (this.#inputs[0]?.text !== answer.text) {
        this.#inputs = [this.#inputOf(answer.text)]
        this.#isInForce = false
        this.#isKept = false
      }
    }
    if (!this.#isInForce) this.#isInForce = (await this.#receiver?.apply(this.#inputs)) ?? false
    if (this.#stopping.signal.aborted) return false
    if (this.#isInForce) this.#keep()
    else this.#health.refused()
    return this.#isInForce
  }

  /** Notes that the address says what is in force. */
  #keep(): void {
    this.#health.current()
    if (this.#isKept) return
    this.#isKept = true
    const body = Buffer.from(this.#inputs[0]?.text ?? '')
    void this.#options.kept?.write(this.name, { atMs: Date.now(), body })
  }

  /** Asks later. Nodes that started together do not ask together: a pause is up to a tenth shorter or longer. */
  #again(): void {
    if (this.#stopping.signal.aborted) return
    const { pollMs, schedule = after, random = Math.random } = this.#options
    const pauseMs = Math.max(pollMs, this.#retryAfterMs) * (0.9 + 0.2 * random())
    this.#cancel = schedule(() => void this.#inTurn(() => this.#look(false)).then(() => this.#again()), pauseMs)
  }

  /** Does one thing at a time, so that an older answer never comes after a newer one. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work)
    this.#lastTurn = turn.catch(() => undefined)
    return turn
  }
}

/** Returns why an address could not be read. */
function asFault(error: unknown): SourceFault {
  return error instanceof SourceFault ? error : new SourceFault(String(error))
}
