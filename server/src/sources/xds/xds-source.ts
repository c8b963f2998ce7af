import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleObject } from 'sluice/internal/core/rules/load'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { RuleReceiver } from 'sluice/internal/engine/rule-source'
import { MalformedMessage } from '../../protobuf/reader.ts'
import type { Kept } from '../kept-rules.ts'
import { type RemoteSource, SourceFault, type SourceFigures, SourceHealth } from '../remote-source.ts'
import { awayError, type Fallback, fallbackOf, problemOf, type StartOptions } from '../start.ts'
import { keepingAlive, type Schedule } from '../timing.ts'
import { type AdsOptions, AdsStream, type AdsTls } from './ads-stream.ts'
import { encodeRequest, type XdsNode } from './discovery.ts'
import { NackPace } from './nack-pace.ts'
import { WorkPace } from './work-pace.ts'
import { type Answer, XdsResources } from './xds-resources.ts'

/**
 * How long a start that may continue without rules waits for them: a control plane sends existing rules immediately.
 */
const MAX_START_MS = 2_000
const MAX_ERROR = 4_096

export interface XdsSourceOptions extends StartOptions, Omit<AdsOptions, 'tls'> {
  /** What people call it. */
  readonly name: string
  readonly node: XdsNode
  /** Reads the files for the next connection. It may throw a SourceFault. Undefined: no TLS. */
  tls?(): AdsTls
  /** The first delay before it reconnects, and the longest. Delays double, and half of each is random. */
  readonly backoffMs: number
  readonly maxBackoffMs: number
  /** Returns what is wrong with rules that were refused. */
  explain?(inputs: readonly RuleObject[]): Promise<string>
  readonly schedule?: Schedule
  /** From 0 to 1. */
  readonly random?: () => number
}

/**
 * Delivers the rules that a control plane sends over the aggregated discovery service (state of the world), and reports
 * to it whether they are in force. While it is unavailable, silent or wrong, the last good rules stay in force.
 */
export class XdsSource implements RemoteSource {
  readonly name: string
  readonly #options: XdsSourceOptions
  readonly #schedule: Schedule
  readonly #health: SourceHealth
  readonly #resources: XdsResources
  readonly #nacks = new NackPace()
  readonly #pace = new WorkPace()
  readonly #stopping = new AbortController()
  #receiver: RuleReceiver | undefined
  #stream: AdsStream | undefined
  /** What was accepted last on this stream; undefined: nothing yet. */
  #version: string | undefined
  #inputs: readonly RuleObject[] | undefined
  #isStarted = false
  #failedDials = 0
  /** Lets a start that waits continue; undefined: without rules. */
  #begin: ((inputs: readonly RuleObject[] | undefined) => void) | undefined
  #fallback: Fallback<RuleObject> | undefined
  #lastProblem: string | undefined
  #cancelDial: (() => void) | undefined
  #cancelNack: (() => void) | undefined
  #cancelWait: (() => void) | undefined

  constructor(options: XdsSourceOptions) {
    this.name = options.name
    this.#options = options
    this.#schedule = options.schedule ?? keepingAlive
    this.#health = new SourceHealth(options.name, options.events ?? {})
    this.#resources = new XdsResources(options.name)
  }

  figures(): SourceFigures {
    return this.#health.figures()
  }

  /** Resolves when there are rules to begin with. That may take for ever; stop ends the wait. */
  async start(receiver: RuleReceiver): Promise<boolean> {
    this.#receiver = receiver
    this.#fallback = await fallbackOf(this.name, this.#options, (kept) => this.#restored(kept))
    const first = new Promise<readonly RuleObject[] | undefined>((resolve) => {
      this.#begin = resolve
    })
    this.#wait()
    this.#dial()
    const inputs = await first
    this.#begin = undefined
    this.#cancelWait?.()
    return inputs === undefined ? false : receiver.apply(inputs)
  }

  started(): void {
    this.#isStarted = true
  }

  /** Connects immediately if it is waiting to. There is nothing to read: the control plane pushes. */
  async readNow(): Promise<boolean> {
    if (this.#stopping.signal.aborted) return false
    if (this.#stream === undefined) this.#dial()
    return this.#inputs === undefined ? true : ((await this.#receiver?.apply(this.#inputs)) ?? false)
  }

  stop(): void {
    this.#stopping.abort()
    for (const cancel of [this.#cancelDial, this.#cancelNack, this.#cancelWait]) cancel?.()
    this.#stream?.close()
    this.#stream = undefined
    this.#health.connected(false)
    this.#begin?.(undefined)
  }

  async #restored({ body }: Kept): Promise<readonly RuleObject[]> {
    const inputs = (await new XdsResources(this.name).answerOf(body))?.inputs
    if (inputs === undefined || inputs instanceof RulesError) throw new SourceFault('no resource that was kept')
    return inputs
  }

  /** Lets a start continue without rules after a while, if allowed; otherwise reports that it waits. */
  #wait(): void {
    const { timeoutMs, startsEmpty } = this.#options
    const waitMs = startsEmpty ? Math.min(MAX_START_MS, timeoutMs) : timeoutMs
    this.#cancelWait = this.#schedule(() => {
      const reason = this.#lastProblem ?? 'nothing was sent yet'
      if (this.#fallback === undefined) this.#options.events?.waiting?.(this.name, reason)
      else this.#fallBack(awayError(this.name, new SourceFault(reason)))
    }, waitMs)
  }

  #fallBack(problem: RulesError): void {
    if (this.#begin === undefined) return
    const { inputs = [] } = this.#fallback ?? {}
    this.#fallback?.log(problem)
    if (inputs.length > 0) this.#inputs = inputs
    this.#begin(inputs)
  }

  #dial(): void {
    this.#cancelDial?.()
    this.#version = undefined
    let hasAnswered = false
    const { host, port, headers, timeoutMs, maxMessageBytes } = this.#options
    try {
      const tls = this.#options.tls?.()
      const stream = new AdsStream(
        { host, port, headers, timeoutMs, maxMessageBytes, tls },
        {
          // A control plane that has never had rules for us is current: it says nothing, and nothing is in force.
          opened: () => this.#health.connected(this.#inputs === undefined),
          message: async (message) => {
            await this.#pace.work(() => this.#hear(message, stream), this.#stopping.signal)
            hasAnswered = true
          },
          ended: (reason, isPolite) => this.#ended(reason, isPolite && hasAnswered),
        },
      )
      this.#stream = stream
      this.#send()
    } catch (error) {
      this.#ended(error instanceof SourceFault ? error.message : String(error), false)
    }
  }

  /** Reconnects: immediately if the control plane asked for it, otherwise with growing delays. */
  #ended(reason: string, isPolite: boolean): void {
    this.#stream = undefined
    this.#cancelNack?.()
    this.#health.connected(false)
    if (this.#stopping.signal.aborted) return
    if (isPolite) {
      this.#dial()
      return
    }
    this.#lastProblem = reason
    this.#health.away(reason)
    const { backoffMs, maxBackoffMs, random = Math.random } = this.#options
    const pauseMs = Math.min(maxBackoffMs, backoffMs * 2 ** this.#failedDials) * (0.5 + 0.5 * random())
    this.#failedDials = Math.min(this.#failedDials + 1, 30)
    this.#cancelDial = this.#schedule(() => this.#dial(), pauseMs)
  }

  /** Requests all resources, or reports on an answer. Without one, neither version nor nonce is valid. */
  #send(about: { readonly nonce?: string; readonly error?: string } = {}): void {
    this.#stream?.send(encodeRequest({ node: this.#options.node, version: this.#version, ...about }))
  }

  /** Handles a message. Its result goes to the stream that it came from, or nowhere. */
  async #hear(message: Buffer, stream: AdsStream): Promise<void> {
    const answer = this.#stream === stream ? await this.#read(message) : undefined
    if (answer === undefined || this.#stream !== stream) return
    this.#failedDials = 0
    this.#cancelNack?.()
    this.#health.answered()
    const error = await this.#take(answer)
    if (this.#stream !== stream) return
    if (error === undefined) this.#ack(answer, message)
    else this.#nack(answer, error)
  }

  async #read(message: Buffer): Promise<Answer | undefined> {
    try {
      return await this.#resources.answerOf(message)
    } catch (error) {
      if (error instanceof MalformedMessage) throw new SourceFault(`not a DiscoveryResponse: ${error.message}`)
      throw error
    }
  }

  /** Puts rules into force, or returns what is wrong with them. */
  async #take({ inputs }: Answer): Promise<string | undefined> {
    const receiver = this.#receiver as RuleReceiver
    const problem = inputs instanceof RulesError ? inputs : this.#problemAtStart(inputs)
    if (problem !== undefined) {
      if (this.#isStarted) receiver.refuse(problem)
      else this.#refuseFirst(problem)
      return problem.message
    }
    this.#inputs = inputs as readonly RuleObject[]
    if (this.#begin !== undefined) {
      this.#begin(this.#inputs)
      return undefined
    }
    return (await this.#applied(receiver)) ? undefined : ((await this.#options.explain?.(this.#inputs)) ?? 'refused')
  }

  async #applied(receiver: RuleReceiver): Promise<boolean> {
    try {
      return await receiver.apply(this.#inputs ?? [])
    } catch (error) {
      receiver.refuse(new RulesError([new SluiceError('RELOAD_FAILED', this.name, String(error))]))
      return false
    }
  }

  /** Looks at rules that are not compiled before all sources have theirs: wrong ones would end the start. */
  #problemAtStart(inputs: readonly RuleObject[]): RulesError | undefined {
    return this.#isStarted ? undefined : problemOf(inputs, this.#options)
  }

  #refuseFirst(problem: RulesError): void {
    this.#lastProblem = problem.message
    if (this.#fallback === undefined) this.#options.events?.waiting?.(this.name, problem.message)
    else this.#fallBack(problem)
  }

  #ack({ version, nonce }: Answer, message: Buffer): void {
    this.#nacks.forget()
    this.#version = version
    this.#health.connected(true)
    this.#send({ nonce })
    void this.#options.kept?.write(this.name, { atMs: Date.now(), body: message })
  }

  /** Reports what is wrong, immediately if it is new. A newer answer replaces it. */
  #nack({ version, nonce }: Answer, error: string): void {
    this.#health.connected(false)
    this.#health.refused()
    const send = (): void => this.#send({ nonce, error: error.slice(0, MAX_ERROR) })
    const pauseMs = this.#nacks.pauseMs(version)
    if (pauseMs === 0) send()
    else this.#cancelNack = this.#schedule(send, pauseMs)
  }
}
