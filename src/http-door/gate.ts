/**
 * The base of every middleware. An adapter for a framework is a RequestReader (how to read its requests) and a few
 * lines that carry out what a Gate says; express/gate-limit.ts is one.
 *
 *   const gate = new Gate(options, reader)        // options: GateOptions<R>, checked here; throws a SluiceError
 *   const pass = gate.enter(request)              // a Pass, or a promise of one. Never throws, never rejects
 *   const fields = gate.fields(pass)              // names[i], values[i] for i < length, filled again for the next
 *   request:
 *                                                 // write them immediately, and keep fields.retryAfterSeconds
 *   if (!pass.allowed) gate.refusal(pass, request, retryAfterSeconds)
 *                                                 // status, contentType, body, headers: send them, with no-store
 *   else if (pass.delayMs > 0) …                  // leaky_bucket: continue only after this long
 *   if (pass.isOpen) gate.left(pass)              // when the client left before the answer. It may refund
 *   if (pass.isOpen) gate.end(pass, status)       // when the handler has ended: the status of the answer,
 *                                                 // undefined if the client did not get it. The first call counts. It
 *                                                 refunds and
 *                                                 // releases
 *   gate.reset({ ip: … }), gate.close()
 *
 * On Node.js, node-response.ts has the rest: writeFields, sendRefusal, AnswerWatch. Requests that are skipped, and
 * those that the limiter could not decide about (see `onError`), get a Pass that is allowed and has no fields.
 *
 * Other libraries count differently: hits in a window that begins with the first one, in a store of the user's choice.
 * hits/hit-gate.ts is the base for their options (express/hit-limit.ts is built on it): key, count, and decisionOf for
 * a FieldRenderer. hits/counter-store.ts and memory-store.ts are such stores, on the same counters as everything else.
 * GATE_FORMS has the form of every option.
 */

import { type Decision, UNLIMITED, undecided } from '../core/combine.ts'
import { got, SluiceError } from '../core/errors.ts'
import type { FieldList } from '../core/http/field-list.ts'
import { FieldRenderer } from '../core/http/field-renderer.ts'
import { type Refusal, refusalOf } from '../core/http/refusal.ts'
import type { PlannedCharge } from '../engine/charge.ts'
import { Decider, type Held } from '../engine/decider.ts'
import { observerOf } from '../engine/decision-event.ts'
import { andThen } from '../engine/maybe.ts'
import type { MaybePromise, Store } from '../engine/ports.ts'
import { openAppStore } from '../stores/open/open-app-store.ts'
import type { OpenStore } from '../stores/open/open-store.ts'
import { type Caller, CallerFinder } from './caller.ts'
import type { ChargePlanner, NewDecider, ResetCaller } from './charge-planner.ts'
import type { Ending } from './ending.ts'
import {
  checkGateOptions,
  fieldSettings,
  type GateOptions,
  hasRules,
  limitsOf,
  rulesCodeOf,
  sheddingOf,
} from './gate-options.ts'
import type { GateShedder } from './gate-shedder.ts'
import { sensibleCost } from './given-cost.ts'
import { guarded } from './guarded.ts'
import { HeldCharges, NOTHING_HELD } from './held-charges.ts'
import { LimitPlanner } from './limit-planner.ts'
import type { RequestReader } from './request-reader.ts'
import type { RuleOptions } from './rule-options.ts'
import { warnOnce } from './warn-once.ts'

export { checkOwnOptions, GATE_FORMS, type GateOptions } from './gate-options.ts'

/** What a Gate says about one request. */
export class Pass {
  readonly allowed: boolean
  readonly decision: Decision
  /** When it was decided. */
  readonly atMs = Date.now()
  /** Undefined where the caller was not determined: the request was skipped, or finding the caller failed. */
  readonly caller: Caller | undefined
  readonly #held: HeldCharges | undefined
  readonly #isRefunded: ((status: number | undefined) => boolean) | undefined
  /** Called when the handler no longer works on the request. */
  readonly #ended: (() => void) | undefined
  readonly #planner: Pick<ChargePlanner<never>, 'scopeOf'> | undefined
  #isConcluded = false
  #isEnded = false

  /** @internal */
  constructor(
    decision: Decision,
    held?: HeldCharges,
    caller?: Caller,
    isRefunded?: ((status: number | undefined) => boolean) | undefined,
    ended?: () => void,
    planner?: Pick<ChargePlanner<never>, 'scopeOf'>,
  ) {
    this.decision = decision
    this.allowed = decision.allowed
    this.caller = caller
    this.#held = held
    this.#planner = planner
    this.#isRefunded = this.allowed ? isRefunded : undefined
    this.#ended = this.allowed ? ended : undefined
  }

  /** Whose budget it was, as it may be shown. */
  get scope(): string | undefined {
    const { tightest, verdicts } = this.decision
    if (this.#held === undefined || tightest === undefined) return undefined
    return this.#planner?.scopeOf(this.#held.planned[verdicts.indexOf(tightest)])
  }

  /** Continue only after this long. */
  get delayMs(): number {
    return this.decision.delayMs
  }

  /** Whether the end of the request must still be reported. */
  get isOpen(): boolean {
    if (this.#ended !== undefined) return true
    return this.#held !== undefined && (this.#held.isHolding || this.#held.isOwing || this.#isRefunded !== undefined)
  }

  /**
   * Settles a request whose `cost` was an estimate: the excess is given back, the rest is charged, whether it fits or
   * not; debt is at most one whole budget. Returns undefined where there is nothing to do: the request was refused,
   * already given back, decided without the store, or cost what was charged.
   */
  async settle(cost: number): Promise<Decision | undefined> {
    const actual = sensibleCost(cost)
    return await this.#held?.settle(actual)
  }

  /**
   * Settles the budget of a client who left before the answer. Permits are kept: the handler may still work. They are
   * no longer renewed: many handlers end without notice when their client has left.
   */
  leave(): MaybePromise<void> {
    this.#held?.letGo()
    return this.#conclude(undefined)
  }

  /**
   * Gives back what must be given back. Only the first call counts; undefined is an answer that the client did not get.
   */
  end(status: number | undefined): MaybePromise<void> {
    if (this.#isEnded) return undefined
    this.#isEnded = true
    this.#ended?.()
    return andThen(this.#held?.release(), () => this.#conclude(status))
  }

  #conclude(status: number | undefined): MaybePromise<void> {
    if (this.#isConcluded) return undefined
    this.#isConcluded = true
    const refunded = this.#isRefunded?.(status) === true ? this.#held?.refund() : undefined
    this.#held?.end()
    return refunded
  }
}

/** Lets requests in, or not. */
export class Gate<R> {
  readonly #reader: RequestReader<R>
  readonly #finder: CallerFinder<R>
  readonly #planner: ChargePlanner<R>
  readonly #options: GateOptions<R>
  #decider: Decider<Store>
  #open: OpenStore
  readonly #renderer: FieldRenderer
  readonly #skip: GateOptions<R>['skip']
  readonly #refund: GateOptions<R>['refund']
  readonly #onError: (error: unknown) => void
  readonly #failsClosed: boolean
  readonly #shedding: GateShedder<R> | undefined
  /** Makes Deciders that do more than limits need. */
  readonly #full: NewDecider | undefined
  /** Whether it must still be checked that callers that invent keys are limited. */
  #isUnwary: boolean

  constructor(options: GateOptions<R>, reader: RequestReader<R>) {
    checkGateOptions(options)
    const { identity = {}, skip, refund, headers = true, onError = warn, cost = 1, priorityHeader } = options
    this.#options = options
    this.#reader = reader
    const report = (error: unknown): void => this.#report(error)
    this.#finder = new CallerFinder(identity, reader, report)
    this.#renderer = new FieldRenderer(fieldSettings(headers))
    this.#skip = skip
    this.#refund = refund
    this.#onError = onError
    const specs = limitsOf(options)
    const shedding = sheddingOf(options)
    const header =
      priorityHeader === undefined ? undefined : shedding?.code.header(priorityHeader, identity.trustedProxies)
    this.#failsClosed = specs.some(({ onStoreFailure }) => onStoreFailure === 'closed')
    this.#open = openAppStore(options)
    const { keys } = this.#open
    this.#shedding = shedding?.code.open(shedding.options, { keys, reader, finder: this.#finder, header, report })
    const byRules = hasRules(options) ? rulesCodeOf(options.rules) : undefined
    this.#full = byRules?.newDecider ?? shedding?.code.newDecider
    this.#decider = this.#newDecider()
    try {
      this.#planner =
        byRules?.planBy(options as RuleOptions<R>, reader, cost, keys, report) ??
        new LimitPlanner(specs, cost, this.#open, report)
    } catch (error) {
      this.#shedding?.shedder.close()
      void this.#open.close()
      throw error
    }
    this.#isUnwary = this.#finder.believesKeys && this.#planner.countsKeys
    hasNet ||= this.#planner.isNet
  }

  /** Decides about a request. It never throws and never rejects. */
  enter(request: R): MaybePromise<Pass> {
    if (this.#isUnwary) {
      this.#isUnwary = false
      if (!hasNet) warnOnce(KEYS_BELIEVED)
    }
    try {
      const pass = this.#skip === undefined ? this.#decide(request) : this.#unlessSkipped(request, this.#skip)
      return pass instanceof Promise ? pass.catch((error: unknown) => this.#failed(error)) : pass
    } catch (error) {
      return this.#failed(error)
    }
  }

  /** Renders what is known of the budget into a list that the next call reuses. */
  fields({ decision, atMs }: Pass): FieldList {
    return this.#renderer.render(decision, atMs)
  }

  /** Renders the answer to a request that was refused. `fields` is what Gate.fields returned for it. */
  refusal(pass: Pass, request: R, retryAfterSeconds: number | undefined): Refusal {
    return refusalOf(pass.decision, retryAfterSeconds, {
      method: this.#reader.method(request),
      path: this.#reader.url(request),
      accept: this.#reader.header(request, 'accept'),
      scope: pass.scope,
    })
  }

  /** Notifies a Pass that its client left before the answer. Never throws or rejects. */
  left(pass: Pass): void {
    this.#guard(() => pass.leave())
  }

  /** Notifies a Pass that the handler has ended. Never throws or rejects. */
  end(pass: Pass, status: number | undefined): void {
    this.#guard(() => pass.end(status))
  }

  /** Returns what must be notified of how a request ends. */
  endingOf(pass: Pass): Ending {
    return { left: () => this.left(pass), ended: (status) => this.end(pass, status) }
  }

  /** Gives a caller the whole budget again. */
  async reset(caller: Partial<ResetCaller>): Promise<void> {
    await this.#decider.reset(this.#planner.planReset({ ...ANONYMOUS, ...caller }))
  }

  /** Gives all callers the whole budget again, for instance between tests. Only a store in memory can. */
  async resetAll(): Promise<void> {
    if (this.#open.memory === undefined) {
      throw new SluiceError('RESET_ALL_NOT_APPLICABLE', 'resetAll', `the counters are ${this.#open.name}`)
    }
    this.#open = openAppStore(this.#options)
    this.#decider = this.#newDecider()
  }

  /** Closes the store and stops watching rules. */
  async close(): Promise<void> {
    this.#planner.close()
    this.#shedding?.shedder.close()
    await this.#open.close()
  }

  /** Counts what the app does not say it would skip: nothing but true does. */
  #unlessSkipped(request: R, skip: NonNullable<GateOptions<R>['skip']>): MaybePromise<Pass> {
    const skipped = guarded<unknown>(
      () => skip(request),
      (error) => void this.#report(error),
    )
    return andThen(skipped, (isSkipped) => {
      if (isSkipped === true) return SKIPPED
      if (isSkipped)
        this.#report(new SluiceError('GATE_OPTIONS_INVALID', 'skip', `${got(isSkipped)}, expected a boolean`))
      return this.#decide(request)
    })
  }

  #decide(request: R): MaybePromise<Pass> {
    const caller = this.#finder.find(request)
    if (caller instanceof Promise) return caller.then((found) => this.#decideAbout(request, found))
    return this.#decideAbout(request, caller)
  }

  #decideAbout(request: R, caller: Caller): MaybePromise<Pass> {
    const charges = this.#planner.plan(request, caller)
    if (charges instanceof Promise) return charges.then((planned) => this.#ask(request, caller, planned))
    return this.#ask(request, caller, charges)
  }

  #ask(request: R, caller: Caller, charges: readonly PlannedCharge[] | undefined): MaybePromise<Pass> {
    if (charges === undefined) return CLOSED
    const held = this.#decider.acquire(charges, undefined, this.#shedding?.priorityOf(request, charges), true)
    if (held instanceof Promise) return held.then((later) => this.#passOf(request, caller, charges, later))
    return this.#passOf(request, caller, charges, held)
  }

  #passOf(request: R, caller: Caller, charges: readonly PlannedCharge[], answer: Held): Pass {
    const { decision } = answer
    if (decision.tightest?.verdict.shed !== undefined) return new Pass(decision, undefined, caller)
    const held = new HeldCharges(this.#decider, charges, answer)
    const ended = decision.allowed ? this.#begin() : undefined
    return new Pass(decision, held, caller, this.#refundOf(request), ended, this.#planner)
  }

  /** Reports a request to the shedder, and returns what to call when it has ended. */
  #begin(): (() => void) | undefined {
    const shedder = this.#shedding?.shedder
    if (shedder?.watchesRequests !== true) return undefined
    const startedAt = performance.now()
    shedder.began()
    return () => shedder.ended(performance.now() - startedAt)
  }

  #newDecider(): Decider<Store> {
    const { store } = this.#open
    const observer = observerOf(this.#options)
    const full = this.#full?.(store, observer, this.#shedding?.shedder, this.#options.ledger)
    return full ?? new Decider(store, observer, { keepsTurns: true })
  }

  #refundOf(request: R): ((status: number | undefined) => boolean) | undefined {
    const refund = this.#refund
    if (refund === undefined) return undefined
    if (typeof refund === 'function') return (status) => refund(status, request)
    return refund === 'failure' ? isFailure : isSuccess
  }

  /** For what should not happen: a store that breaks its promise. Nothing that a client sends leads here. */
  #failed(error: unknown): Pass {
    this.#report(error)
    return this.#failsClosed ? CLOSED : SKIPPED
  }

  #guard(work: () => MaybePromise<void>): void {
    try {
      const done = work()
      if (done instanceof Promise) done.catch((error: unknown) => this.#report(error))
    } catch (error) {
      this.#report(error)
    }
  }

  #report(error: unknown): void {
    try {
      this.#onError(error)
    } catch {
      // An error in a listener is not the request's: the request continues.
    }
  }
}

/**
 * A client that leaves is not a failure: otherwise clients that leave early would have no limit while handlers work on.
 */
const isFailure = (status: number | undefined): boolean => status !== undefined && status >= 400
const isSuccess = (status: number | undefined): boolean => status !== undefined && status < 400

const ANONYMOUS: Caller = { ip: undefined, apiKey: undefined, user: undefined, tenant: undefined, tier: undefined }
const SKIPPED = new Pass(UNLIMITED, NOTHING_HELD)
const CLOSED = new Pass(undecided(1_000), NOTHING_HELD)

function warn(error: unknown): void {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  warnOnce(`something went wrong while a request was limited: ${text}`)
}

/** Whether any gate of this process counts addresses. It may not be the gate that counts keys. */
let hasNet = false
const KEYS_BELIEVED =
  'identity.apiKey believes every key that a client sends, and no limit counts addresses: who makes up a key for each ' +
  "request has no limit. Give identity.apiKey.verify, or add a limit with by: 'ip'."
