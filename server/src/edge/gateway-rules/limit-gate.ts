import { combine, type Decision } from 'sluice/internal/core/combine'
import { FieldRenderer } from 'sluice/internal/core/http/field-renderer'
import { type Refusal as HttpRefusal, refusalOf, type Stated, statedRefusal } from 'sluice/internal/core/http/refusal'
import type { RequestContext } from 'sluice/internal/core/request'
import { methodPriority, type Priority, rulePriority } from 'sluice/internal/core/shedding/priority'
import type { Held } from 'sluice/internal/engine/decider'
import { andThen } from 'sluice/internal/engine/maybe'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Caller } from 'sluice/internal/http-door/caller'
import { applyShadowMode } from '../apply-shadow-mode.ts'
import type { Admission, Fields, GatewayGate, GatewayRequest, Pass, Refusal } from '../gateway/gate.ts'
import type { Ceiling, CeilingHit } from './ceiling.ts'
import type { GatewayLimiter } from './gateway-limiter.ts'
import { HeldPass } from './held-pass.ts'
import type { PlannedRoute } from './planned-route.ts'
import { saidPriority } from './priority-header.ts'
import { isDecided, planRequest, type RequestPlan } from './request-plan.ts'
import { gatewayReader, joinedField } from './request-reader.ts'
import { strike, withoutBlocks } from './strikes.ts'
import { type Waited, WaitingRoom } from './waiting-room.ts'

export interface LimitGateParts {
  readonly limiter: GatewayLimiter
  readonly ceiling: Ceiling
  readonly room?: WaitingRoom
  /** Every request passes: a refusal is counted, and not answered. */
  readonly isShadow?: boolean
  /** What a request says of its trace, where somebody wants to know. */
  readonly contextOf?: ((request: GatewayRequest) => RequestContext) | undefined
  /** Told of errors of our own. */
  readonly failed?: (error: unknown) => void
}

/** LimitGate lets requests through a gateway as the limits of their routes say. Its routes are PlannedRoutes. */
export class LimitGate implements GatewayGate {
  readonly #limiter: GatewayLimiter
  readonly #ceiling: Ceiling
  readonly #room: WaitingRoom
  readonly #isShadow: boolean
  readonly #contextOf: LimitGateParts['contextOf']
  readonly #failed: (error: unknown) => void
  readonly #renderer = new FieldRenderer({ random: Math.random })

  constructor({ limiter, ceiling, room, isShadow = false, contextOf, failed = () => {} }: LimitGateParts) {
    this.#limiter = limiter
    this.#ceiling = ceiling
    this.#room = room ?? new WaitingRoom()
    this.#isShadow = isShadow
    this.#contextOf = contextOf
    this.#failed = failed
  }

  before(request: GatewayRequest): Refusal | undefined {
    const { shared } = request.route as PlannedRoute
    const hit = this.#ceiling.hit(request.ip, shared.ceiling)
    return hit === undefined || this.#isShadow ? undefined : tooMuch(hit, request)
  }

  /**
   * enter charges the limits that need nothing of a body which is still to come: one that is sent slowly, or never, is
   * counted from the start. What they took is given back if those of the body refuse the request, and not if the body
   * never comes.
   */
  enter(request: GatewayRequest): MaybePromise<Admission> {
    const { shared } = request.route as PlannedRoute
    return andThen(shared.finder.find(request), (caller) => {
      const plan = planRequest(this.#limiter, request, caller, 'head')
      const held = this.#limiter.hold(plan.charges, this.#contextOf?.(request))
      return andThen(held, (answer) => this.#answer(request, caller, plan, answer))
    })
  }

  admit(request: GatewayRequest, entered?: Pass): MaybePromise<Admission> {
    if (entered instanceof HeldPass) return this.#ask(request, entered.caller, entered)
    const { shared } = request.route as PlannedRoute
    return andThen(shared.finder.find(request), (caller) => this.#ask(request, caller))
  }

  #ask(request: GatewayRequest, caller: Caller, entered?: HeldPass): MaybePromise<Admission> {
    const plan = planRequest(this.#limiter, request, caller, entered === undefined ? 'all' : 'body')
    const priority = priorityOf(request, plan, entered)
    const charges = this.#shedByUpstream(request, plan, priority) ?? plan.charges
    const held = this.#limiter.hold(charges, this.#contextOf?.(request), this.#limiter.shedder && priority)
    return andThen(held, (answer) => this.#answer(request, caller, plan, answer, entered, true))
  }

  /** #shedByUpstream is the charge of a request that its upstream has no room for, told with what it was about. */
  #shedByUpstream(request: GatewayRequest, { charges }: RequestPlan, priority: Priority) {
    // A block stays a block.
    if (request.claim(priority) || isDecided(charges)) return undefined
    const shed = this.#limiter.shedder?.shedUpstream(priority)
    if (shed === undefined) return undefined
    return [charges.length === 0 ? shed : { ...shed, domain: charges[0].domain, entries: charges[0].entries }]
  }

  #answer(
    request: GatewayRequest,
    caller: Caller,
    planned: RequestPlan,
    held: Held,
    entered?: HeldPass,
    isLast = false,
  ): MaybePromise<Admission> {
    // Who is shed was charged nothing, and has no verdict of a limit.
    const plan = held.decision.tightest?.verdict.shed === undefined ? planned : NOTHING
    const decision = applyShadowMode(withoutBlocks(plan, held.decision), this.#isShadow)
    const told =
      entered?.told === undefined ? decision : applyShadowMode(joined(entered.told, decision), this.#isShadow)
    if (!held.decision.allowed) this.#later(() => strike(this.#limiter, plan, held.decision))
    if (!decision.allowed) {
      entered?.undo()
      const { fields, retryAfterSeconds } = this.#fieldsOf(told)
      return refusal(refusalFor(decision, retryAfterSeconds, request), fields)
    }
    const pass = entered ?? new HeldPass(this.#limiter, caller, this.#failed)
    pass.take(plan, held, told)
    if (isLast) pass.start(this.#fieldsOf(told).fields)
    const delayMs = Math.max(decision.delayMs, nearLimitMs(plan, held.decision))
    return delayMs === 0 ? pass : this.#hold(request, pass, delayMs)
  }

  /** #hold keeps a request back, and gives back what it took where there is no room for it. */
  #hold(request: GatewayRequest, pass: HeldPass, delayMs: number): MaybePromise<Admission> {
    const { room } = (request.route as PlannedRoute).shared
    const reason = this.#room.refusalOf(request.ip, delayMs, room)
    if (reason !== undefined) {
      pass.undo()
      return noRoom(reason, delayMs, request)
    }
    return this.#room
      .wait(request.ip, delayMs, (run) => request.onLeave(run))
      .then((how) => {
        // Who left will be told of: what it took is given back then.
        if (how === 'left') pass.giveUp()
        return pass
      })
  }

  #later(run: () => MaybePromise<unknown>): void {
    try {
      const done = run()
      if (done instanceof Promise) done.catch((error: unknown) => this.#failed(error))
    } catch (error) {
      this.#failed(error)
    }
  }

  #fieldsOf(decision: Decision): { readonly fields: Fields; readonly retryAfterSeconds: number | undefined } {
    const { names, values, length, retryAfterSeconds } = this.#renderer.render(decision, Date.now())
    const fields: string[] = []
    for (let i = 0; i < length; i++) fields.push(names[i], values[i])
    return { fields, retryAfterSeconds }
  }
}

const NOTHING: RequestPlan = { charges: [], limits: [], descriptors: [] }

/** priorityOf is what a trusted caller says, else the route, else its rules, else the method. */
function priorityOf(request: GatewayRequest, { charges }: RequestPlan, entered: HeldPass | undefined): Priority {
  const { shared, priority } = request.route as PlannedRoute
  const said = saidPriority(request, shared.priorityHeader) ?? priority
  if (said !== undefined) return said
  const all = entered === undefined ? charges : [...entered.planned, ...charges]
  return rulePriority(all) ?? methodPriority(request.method)
}

/** joined is one decision of two that both admit, or of which the second refuses. */
function joined(first: Decision, second: Decision): Decision {
  if (first.verdicts.length === 0) return second
  return second.allowed ? combine([...first.verdicts, ...second.verdicts]) : second
}

/** nearLimitMs is how long a request is held that leaves little of a limit which says so. */
function nearLimitMs({ charges, limits }: RequestPlan, { verdicts }: Decision): number {
  let longest = 0
  verdicts.forEach(({ verdict, rule }, i) => {
    const delay = limits[charges[i]?.descriptor ?? -1]?.delay
    if (delay === undefined || rule.shadow || charges[i].cost === 0) return
    if (verdict.remaining < verdict.limit * delay.leftShare) longest = Math.max(longest, delay.ms)
  })
  return longest
}

function refusalFor(decision: Decision, retryAfter: number | undefined, request: GatewayRequest): HttpRefusal {
  const accept = joinedField(request.headers, 'accept')
  return refusalOf(decision, retryAfter, { method: request.method, path: request.target, accept, forms: 'any' })
}

/** refusal is an answer of HTTP. What a rule's author added replaces none of ours. */
function refusal({ status, contentType, body, headers }: HttpRefusal, fields: Fields): Refusal {
  const taken = new Set(['content-type', 'content-length', 'cache-control'])
  for (let i = 0; i < fields.length; i += 2) taken.add(fields[i].toLowerCase())
  const added = headers.filter(([name]) => !taken.has(name.toLowerCase())).flat()
  const own = [
    'Cache-Control',
    'no-store',
    'Vary',
    'Accept',
    'X-Content-Type-Options',
    'nosniff',
    'Content-Type',
    contentType,
  ]
  return { kind: 'refused', status, headers: [...fields, ...added, ...own], body }
}

function stated(what: Omit<Stated, 'retryAfter'>, retryAfterMs: number, request: GatewayRequest): Refusal {
  const retryAfter = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  const answer = statedRefusal({ ...what, retryAfter }, gatewayReader.header(request, 'accept'))
  return refusal(answer, ['Retry-After', String(retryAfter)])
}

function tooMuch({ isForAll, retryAfterMs }: CeilingHit, request: GatewayRequest): Refusal {
  if (isForAll)
    return stated({ status: 503, code: 'UNAVAILABLE', message: 'This server is full.' }, retryAfterMs, request)
  const message = 'Too many requests from this address.'
  return stated({ status: 429, code: 'RATE_LIMITED', message }, retryAfterMs, request)
}

function noRoom(reason: Exclude<Waited, 'over' | 'left'>, delayMs: number, request: GatewayRequest): Refusal {
  if (reason === 'full') {
    return stated({ status: 503, code: 'UNAVAILABLE', message: 'Too many requests are waiting.' }, delayMs, request)
  }
  return stated({ status: 429, code: 'RATE_LIMITED', message: 'Rate limit exceeded.' }, delayMs, request)
}
