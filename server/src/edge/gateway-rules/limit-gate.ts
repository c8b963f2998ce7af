import { combine, type Decision } from 'sluice/internal/core/combine'
import { formatDuration } from 'sluice/internal/core/duration'
import { FieldRenderer } from 'sluice/internal/core/http/field-renderer'
import { type Refusal, refusalOf, type Stated, statedRefusal } from 'sluice/internal/core/http/refusal'
import type { RequestContext } from 'sluice/internal/core/request'
import { methodPriority, type Priority, rulePriority } from 'sluice/internal/core/shedding/priority'
import type { Held } from 'sluice/internal/engine/decider'
import { andThen } from 'sluice/internal/engine/maybe'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Caller } from 'sluice/internal/http-door/caller'
import { applyShadowMode } from '../apply-shadow-mode.ts'
import type { Admission, Fields, GateRefusal, GatewayGate, GatewayRequest, Pass } from '../gateway/gate.ts'
import { Blocks } from './blocks.ts'
import type { Ceiling, CeilingHit } from './ceiling.ts'
import type { GatewayLimiter } from './gateway-limiter.ts'
import { HeldPass } from './held-pass.ts'
import { type Line, lineUp } from './line.ts'
import type { PlannedRoute } from './planned-route.ts'
import { saidPriority } from './priority-header.ts'
import { isDecided, type PlanPart, planRequest, type RequestPlan } from './request-plan.ts'
import { gatewayReader, joinedField } from './request-reader.ts'
import { Striker, withoutBlocks } from './strikes.ts'
import { Turns } from './turns.ts'
import { type Wait, type Waited, WaitingRoom } from './waiting-room.ts'

export interface LimitGateParts {
  readonly limiter: GatewayLimiter
  readonly ceiling: Ceiling
  readonly room?: WaitingRoom
  readonly turns?: Turns
  readonly blocks?: Blocks
  /** Every request passes: a refusal is counted, and not answered. */
  readonly isShadow?: boolean
  /** Answers say in Sluice-Fallback when limits decided without the store. Default: false. Clients are strangers. */
  readonly showsFallback?: boolean
  /** Returns the trace context of a request, if traces are on. */
  readonly contextOf?: ((request: GatewayRequest) => RequestContext) | undefined
  /** Called with internal errors. */
  readonly failed?: (error: unknown) => void
}

/** Lets requests through a gateway as the limits of their routes say. Its routes are PlannedRoutes. */
export class LimitGate implements GatewayGate {
  readonly #limiter: GatewayLimiter
  readonly #ceiling: Ceiling
  readonly #room: WaitingRoom
  readonly #turns: Turns
  readonly #blocks: Blocks
  readonly #striker: Striker
  readonly #isShadow: boolean
  readonly #contextOf: LimitGateParts['contextOf']
  readonly #failed: (error: unknown) => void
  readonly #renderer: FieldRenderer

  constructor({
    limiter,
    ceiling,
    room,
    turns,
    blocks,
    isShadow = false,
    showsFallback = false,
    contextOf,
    failed = () => {},
  }: LimitGateParts) {
    this.#limiter = limiter
    this.#ceiling = ceiling
    this.#room = room ?? new WaitingRoom()
    this.#turns = turns ?? new Turns()
    this.#blocks = blocks ?? new Blocks(limiter)
    this.#striker = new Striker(limiter, this.#blocks)
    this.#isShadow = isShadow
    this.#renderer = new FieldRenderer({ random: Math.random, fallback: showsFallback })
    this.#contextOf = contextOf
    this.#failed = failed
  }

  before(request: GatewayRequest): GateRefusal | undefined {
    const { shared } = request.route as PlannedRoute
    const hit = this.#ceiling.hit(request.ip, shared.ceiling)
    return hit === undefined || this.#isShadow ? undefined : tooMuch(hit, request)
  }

  /**
   * Charges the limits that need nothing of a body that has yet to arrive: one that is sent slowly, or never, is
   * counted from the start. Their charges are refunded if limits on the body refuse the request, and not if the body
   * never arrives.
   */
  enter(request: GatewayRequest): MaybePromise<Admission> {
    const { shared } = request.route as PlannedRoute
    return andThen(shared.finder.find(request), (caller) => this.#ask(request, caller, 'head'))
  }

  admit(request: GatewayRequest, entered?: Pass): MaybePromise<Admission> {
    if (entered instanceof HeldPass) return this.#ask(request, entered.caller, 'body', entered)
    const { shared } = request.route as PlannedRoute
    return andThen(shared.finder.find(request), (caller) => this.#ask(request, caller, 'all'))
  }

  #ask(request: GatewayRequest, caller: Caller, part: PlanPart, entered?: HeldPass): MaybePromise<Admission> {
    const plan = planRequest(this.#limiter, request, caller, part)
    const step = { request, caller, plan, entered, isLast: part !== 'head' }
    if (this.#isShadow || !this.#blocks.knows(plan.charges)) return this.#decide(step)
    return andThen(this.#blocks.refuse(plan.charges, this.#contextOf?.(request)), (decision) =>
      decision === undefined ? this.#decide(step) : this.#refused(step, decision),
    )
  }

  #decide(step: Step): MaybePromise<Admission> {
    const { request, plan, entered, isLast } = step
    const priority = isLast ? priorityOf(request, plan, entered) : undefined
    const shed = priority === undefined ? undefined : this.#shedByUpstream(request, plan, priority)
    const line = shed === undefined && !this.#isShadow ? lineUp(this.#turns, plan.charges) : undefined
    const charges = shed ?? line?.charges ?? plan.charges
    const held = this.#limiter.hold(charges, this.#contextOf?.(request), this.#limiter.shedder && priority)
    return andThen(held, (answer) => this.#answer(step, answer, line))
  }

  /** Returns the decision for a request that its upstream has no room for, including what it was about. */
  #shedByUpstream(request: GatewayRequest, { charges }: RequestPlan, priority: Priority) {
    // A block stays a block.
    if (request.claim(priority) || isDecided(charges)) return undefined
    const shed = this.#limiter.shedder?.shedUpstream(priority)
    if (shed === undefined) return undefined
    return [charges.length === 0 ? shed : { ...shed, domain: charges[0].domain, entries: charges[0].entries }]
  }

  #answer(asked: Step, held: Held, line: Line | undefined): MaybePromise<Admission> {
    const { request, caller, entered, isLast } = asked
    // Who is shed was charged nothing, and has no verdict of a limit.
    const plan = held.decision.tightest?.verdict.shed === undefined ? asked.plan : NOTHING
    const decision = applyShadowMode(withoutBlocks(plan, held.decision), this.#isShadow)
    this.#blocks.learn(plan.charges, held.decision.verdicts)
    if (!decision.allowed) {
      line?.leave()
      return this.#strike({ ...asked, plan }, held.decision)
    }
    if (!held.decision.allowed) void this.#guarded(() => this.#striker.strike(plan, held.decision))
    const shown =
      entered?.decided === undefined ? decision : applyShadowMode(joined(entered.decided, decision), this.#isShadow)
    const pass = entered ?? new HeldPass(this.#limiter, caller, this.#failed)
    pass.take(plan, held, shown)
    if (isLast) pass.start(this.#fieldsOf(shown).fields)
    if (this.#isShadow) return pass
    const tickets = line?.join(held.decision) ?? []
    const ms = Math.max(tickets.length === 0 ? decision.delayMs : 0, nearLimitMs(plan, held.decision))
    return ms === 0 && tickets.length === 0 ? pass : this.#hold(request, pass, { ms, tickets })
  }

  /**
   * Refuses a request, and counts the refusal. Where the store was not asked whether the caller is blocked, because the
   * refusal was known without it, counting it shows that.
   */
  #strike(step: Step, decision: Decision): MaybePromise<GateRefusal> {
    const { plan } = step
    const isGuess = decision.verdicts.some(({ verdict }, i) => verdict.unasked === true && plan.charges[i]?.isCondition)
    const struck = this.#guarded(() => this.#striker.strike(plan, decision))
    if (!isGuess) return this.#refused(step, decision)
    return andThen(struck, (isBlocked) =>
      this.#refused(step, isBlocked === true ? this.#blocks.shown(plan.charges, decision) : decision),
    )
  }

  /** Returns the answer, and gives back what was taken before the body was there. */
  #refused({ request, plan, entered }: Step, decision: Decision): GateRefusal {
    entered?.undo()
    const shown = withoutBlocks(plan, decision)
    const { fields, retryAfterSeconds } = this.#fieldsOf(shown)
    return refusal(refusalFor(shown, retryAfterSeconds, request), fields)
  }

  /**
   * Keeps a request back. Where there is no room for it, what it took is given back, and its turns to those behind it.
   */
  #hold(request: GatewayRequest, pass: HeldPass, wait: Wait): MaybePromise<Admission> {
    const { room } = (request.route as PlannedRoute).shared
    const delayMs = wait.tickets.reduce((longest, { waitMs }) => Math.max(longest, waitMs), wait.ms)
    const reason = this.#room.refusalOf(request.ip, delayMs, room)
    if (reason !== undefined) {
      for (const ticket of wait.tickets) ticket.leave()
      pass.undo()
      return noRoom(reason, delayMs, request)
    }
    return this.#room
      .wait(request.ip, wait, (run) => request.onLeave(run))
      .then((how) => {
        // What it took, but for its turn, is given back when the request has ended.
        if (how === 'left') pass.giveUp()
        return pass
      })
  }

  /** Reports what a step throws, also later, and does not throw. */
  #guarded<T>(run: () => MaybePromise<T>): MaybePromise<T | undefined> {
    const failed = (error: unknown): undefined => void this.#failed(error)
    try {
      const done = run()
      return done instanceof Promise ? done.catch(failed) : done
    } catch (error) {
      return failed(error)
    }
  }

  #fieldsOf(decision: Decision): { readonly fields: Fields; readonly retryAfterSeconds: number | undefined } {
    const { names, values, length, retryAfterSeconds } = this.#renderer.render(decision, Date.now())
    const fields: string[] = []
    for (let i = 0; i < length; i++) fields.push(names[i], values[i])
    return { fields, retryAfterSeconds }
  }
}

/** One of at most two questions about a request: what needs nothing of its body, and the rest. */
interface Step {
  readonly request: GatewayRequest
  readonly caller: Caller
  readonly plan: RequestPlan
  /** What the first step took. */
  readonly entered: HeldPass | undefined
  readonly isLast: boolean
}

const NOTHING: RequestPlan = { charges: [], limits: [], descriptors: [] }

/** Returns what a trusted caller says, else the route, else its rules, else the method. */
function priorityOf(request: GatewayRequest, { charges }: RequestPlan, entered: HeldPass | undefined): Priority {
  const { shared, priority } = request.route as PlannedRoute
  const said = saidPriority(request, shared.priorityHeader) ?? priority
  if (said !== undefined) return said
  const all = entered === undefined ? charges : [...entered.planned, ...charges]
  return rulePriority(all) ?? methodPriority(request.method)
}

/** One decision of two that both admit, or of which the second refuses. */
function joined(first: Decision, second: Decision): Decision {
  if (first.verdicts.length === 0) return second
  return second.allowed ? combine([...first.verdicts, ...second.verdicts]) : second
}

/** Returns how long a request is held that leaves little of a limit which says so. */
function nearLimitMs({ charges, limits }: RequestPlan, { verdicts }: Decision): number {
  let longest = 0
  verdicts.forEach(({ verdict, rule }, i) => {
    const delay = limits[charges[i]?.descriptor ?? -1]?.delay
    if (delay === undefined || rule.shadow || charges[i].cost === 0) return
    if (verdict.remaining < verdict.limit * delay.leftShare) longest = Math.max(longest, delay.ms)
  })
  return longest
}

function refusalFor(decision: Decision, retryAfter: number | undefined, request: GatewayRequest): Refusal {
  const accept = joinedField(request.headers, 'accept')
  return refusalOf(decision, retryAfter, { method: request.method, path: request.target, accept, forms: 'any' })
}

/** Returns an answer of HTTP. What a rule's author added replaces none of ours. */
function refusal({ status, contentType, body, headers }: Refusal, fields: Fields): GateRefusal {
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

function stated(
  what: Omit<Stated, 'retryAfter'>,
  retryAfterMs: number,
  request: GatewayRequest,
  fields: Fields = [],
): GateRefusal {
  const retryAfter = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  const answer = statedRefusal({ ...what, retryAfter }, gatewayReader.header(request, 'accept'))
  return refusal(answer, ['Retry-After', String(retryAfter), ...fields])
}

/** The field by which an answer says that the ceiling of the process refused a request, and what it counts. */
const CEILING_FIELD = 'Sluice-Ceiling'

function tooMuch({ scope, limit, retryAfterMs }: CeilingHit, request: GatewayRequest): GateRefusal {
  const rate = `${limit.max}/${formatDuration(limit.windowMs)}`
  const what: Omit<Stated, 'retryAfter'> =
    scope === 'requests'
      ? { status: 503, code: 'UNAVAILABLE', message: `This server takes ${rate}, and is full.` }
      : {
          status: 429,
          code: 'RATE_LIMITED',
          message: `Too many requests from this address: this server takes ${rate}.`,
        }
  return stated(what, retryAfterMs, request, [CEILING_FIELD, scope])
}

function noRoom(reason: Exclude<Waited, 'over' | 'left'>, delayMs: number, request: GatewayRequest): GateRefusal {
  if (reason === 'full') {
    return stated({ status: 503, code: 'UNAVAILABLE', message: 'Too many requests are waiting.' }, delayMs, request)
  }
  return stated({ status: 429, code: 'RATE_LIMITED', message: 'Rate limit exceeded.' }, delayMs, request)
}
