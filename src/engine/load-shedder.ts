import { refusedVerdict, type Verdict } from '../core/decision.ts'
import type { KeyEncoder } from '../core/key-encoder.ts'
import { compileLimit } from '../core/limit.ts'
import type { Rule } from '../core/rule.ts'
import { DEFAULTS } from '../core/rules/rule-defaults.ts'
import { type FleetOptions, fleetAllotment } from '../core/shedding/fleet-law.ts'
import type { Priority } from '../core/shedding/priority.ts'
import { utilisationOf, type WorkerBounds } from '../core/shedding/utilisation.ts'
import { WorkerLaw, type WorkerLawOptions } from '../core/shedding/worker-law.ts'
import type { PlannedCharge } from './charge.ts'
import { LOOP, type LoopSampler } from './loop-sampler.ts'

/** What sheds to protect the system: the whole fleet, one worker, or an upstream of the gateway. */
export type ShedLayer = 'fleet' | 'worker' | 'upstream'

/** on sheds; shadow counts what it would shed; off does nothing. */
export type LayerMode = 'on' | 'shadow' | 'off'

export const SHED_LAYERS: readonly ShedLayer[] = ['fleet', 'worker', 'upstream']
export const LAYER_MODES: readonly LayerMode[] = ['on', 'shadow', 'off']

/** The default mean delay of the event loop that counts as 100 % utilization of a worker. */
export const DEFAULT_DELAY_MS = 50

export interface WorkerShedding extends Partial<WorkerBounds>, WorkerLawOptions {
  /** Default: on. */
  readonly mode?: LayerMode
}

export interface FleetShedding extends FleetOptions {
  /** Default: on. */
  readonly mode?: LayerMode
  /** Separates fleets that share a store. Default: all nodes of the store are one fleet. */
  readonly name?: string
}

export interface LoadShedderOptions {
  readonly worker?: WorkerShedding | undefined
  /** Undefined: the capacity of the fleet is unknown, and the layer is off regardless of its mode. */
  readonly fleet?: FleetShedding | undefined
  /** The modes of the layers set at run time; undefined where none is set. */
  readonly modes?: ((layer: ShedLayer) => LayerMode | undefined) | undefined
  /** Encodes the key of the fleet's counter. */
  readonly keys: KeyEncoder
  /** From 0 up to 1. Default: Math.random. */
  readonly random?: () => number
  /** Default: that of this process. */
  readonly sampler?: LoopSampler
}

/** How many requests a layer shed, or would have. */
export interface ShedCount {
  readonly layer: ShedLayer
  readonly priority: Priority
  readonly mode: 'on' | 'shadow'
  readonly count: number
}

/** How soon shed requests may retry: the more important, the sooner. Up to the same again is added at random. */
const RETRY_MS: readonly number[] = [1_000, 1_000, 2_000, 5_000]
const PRIORITIES: readonly Priority[] = [0, 1, 2, 3]
/** Names the layer that shed a request: it shows proxies and clients that no limit was exceeded. */
export const SHED_FIELD = 'Sluice-Shed'

const FLEET_DOMAIN = '$fleet'
const NOTHING = compileLimit({ limit: 0, window: 1_000 })

/**
 * Decides which requests are not served so that others are: by worker utilization, before the store is asked, and by
 * the usage of the fleet, on a counter that is charged together with all others. Critical requests are never shed, and
 * a failure here sheds no request: without its store, the fleet's usage is that of this process.
 *
 * Doors that know when a request begins and ends call `began` and `ended` if it watches requests.
 */
export class LoadShedder {
  readonly #law: WorkerLaw
  readonly #bounds: WorkerBounds
  readonly #workerMode: LayerMode
  readonly #fleetMode: LayerMode
  readonly #modes: ((layer: ShedLayer) => LayerMode | undefined) | undefined
  readonly #random: () => number
  readonly #sampler: LoopSampler
  readonly #workerCharges: readonly PlannedCharge[]
  readonly #upstreamCharges: readonly PlannedCharge[]
  readonly #fleetCharges: { readonly on: PlannedCharge; readonly shadow: PlannedCharge } | undefined
  readonly #counts = new Float64Array(SHED_LAYERS.length * PRIORITIES.length * 2)
  #stopListening: (() => void) | undefined
  #utilisation = 0
  #inFlight = 0
  #endedMs = 0
  #ended = 0
  /** Requests since the last sample, and how many of them were shed. */
  #offered = 0
  #shed = 0

  constructor({ worker, fleet, modes, keys, random = Math.random, sampler = LOOP }: LoadShedderOptions) {
    this.#law = new WorkerLaw(worker)
    this.#bounds = { delayMs: DEFAULT_DELAY_MS, ...definedBounds(worker) }
    this.#workerMode = worker === undefined ? 'off' : (worker.mode ?? 'on')
    this.#fleetMode = fleet?.mode ?? 'on'
    this.#modes = modes
    this.#random = random
    this.#sampler = sampler
    this.#workerCharges = PRIORITIES.map((priority) => shedCharge('worker', priority))
    this.#upstreamCharges = PRIORITIES.map((priority) => shedCharge('upstream', priority))
    this.#fleetCharges = fleet && fleetCharges(fleet, keys)
    // What may be switched on at any time has to know by then how busy the worker is.
    if (worker !== undefined || modes !== undefined) this.#listen()
  }

  /** Returns what a layer does now. */
  modeOf(layer: ShedLayer): LayerMode {
    if (layer === 'fleet' && this.#fleetCharges === undefined) return 'off'
    return this.#modes?.(layer) ?? this.#givenMode(layer)
  }

  /**
   * Returns whether this worker sheds a request: undefined admits it. Otherwise it returns a charge that is already
   * decided, whose verdict says when to retry. Asking twice about one request counts it twice.
   */
  shed(priority: Priority): PlannedCharge | undefined {
    this.#offered++
    if (this.#law.level === 0 || priority === 0) return undefined
    const mode = this.modeOf('worker')
    if (mode === 'off' || !this.#law.sheds(priority, this.#random())) return undefined
    this.#count('worker', priority, mode)
    if (mode !== 'on') return undefined
    this.#shed++
    return this.#workerCharges[priority]
  }

  /**
   * Returns whether a request is shed for which its upstream has no room: undefined lets it through. Asking twice about
   * one request counts it twice. Critical ones are shed too: there is nothing that they could have.
   */
  shedUpstream(priority: Priority): PlannedCharge | undefined {
    const mode = this.modeOf('upstream')
    if (mode === 'off') return undefined
    this.#count('upstream', priority, mode)
    return mode === 'on' ? this.#upstreamCharges[priority] : undefined
  }

  /**
   * Returns what a request takes of the fleet's capacity, to be charged together with the other charges; undefined for
   * nothing.
   */
  fleetCharge(priority: Priority): PlannedCharge | undefined {
    if (this.#fleetCharges === undefined || priority === 0) return undefined
    const mode = this.modeOf('fleet')
    return mode === 'off' ? undefined : this.#fleetCharges[mode]
  }

  /** Returns whether a request is shed by the verdict about its fleetCharge, which it is asked about once. */
  fleetShed(charge: PlannedCharge, verdict: Verdict, priority: Priority): PlannedCharge | undefined {
    if (verdict.allowed) return undefined
    this.#count('fleet', priority, charge.enforce ? 'on' : 'shadow')
    if (!charge.enforce) return undefined
    const waitMs = verdict.kind === 'refused' ? verdict.retryAfterMs : 0
    const retryAfterMs = Math.max(waitMs, RETRY_MS[priority])
    const shed: Verdict = { ...refusedVerdict(0, 0, retryAfterMs, retryAfterMs), shed: 'fleet' }
    const rule = FLEET_RULES[priority]
    return { ...charge, limit: NOTHING, rule, policy: rule, verdict: shed }
  }

  /** Whether requests in flight, or their times, are considered: without that, doors need not report them. */
  get watchesRequests(): boolean {
    return this.#bounds.inFlight !== undefined || this.#bounds.latencyMs !== undefined
  }

  /** Records that a request is in flight. */
  began(): void {
    this.#inFlight++
  }

  /** Records that a request has ended; `tookMs` is undefined where its time is not representative. */
  ended(tookMs?: number): void {
    if (this.#inFlight > 0) this.#inFlight--
    if (tookMs === undefined || !(tookMs >= 0)) return
    this.#endedMs += tookMs
    this.#ended++
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** How much of this worker is used: 1 is all of it. */
  get utilisation(): number {
    return this.#utilisation
  }

  /** Returns the part of the requests of a priority that this worker would shed, whatever its mode. */
  share(priority: Priority): number {
    return this.#law.share(priority)
  }

  /** Of all layers, priorities and modes. */
  counts(): readonly ShedCount[] {
    return SHED_LAYERS.flatMap((layer) =>
      PRIORITIES.flatMap((priority) =>
        (['on', 'shadow'] as const).map((mode) => {
          return { layer, priority, mode, count: this.#counts[placeOf(layer, priority, mode)] }
        }),
      ),
    )
  }

  close(): void {
    this.#stopListening?.()
    this.#stopListening = undefined
  }

  /** Returns what the options say. Which upstreams have a limit, the routes say. */
  #givenMode(layer: ShedLayer): LayerMode {
    if (layer === 'upstream') return 'on'
    return layer === 'fleet' ? this.#fleetMode : this.#workerMode
  }

  #listen(): void {
    this.#stopListening = this.#sampler.listen((delayMs, sinceMs) => {
      const latencyMs = this.#ended === 0 ? 0 : this.#endedMs / this.#ended
      this.#utilisation = utilisationOf({ delayMs, inFlight: this.#inFlight, latencyMs }, this.#bounds)
      this.#endedMs = 0
      this.#ended = 0
      this.#law.sample(this.#utilisation, sinceMs, { offered: this.#offered, admitted: this.#offered - this.#shed })
      this.#offered = 0
      this.#shed = 0
    })
  }

  #count(layer: ShedLayer, priority: Priority, mode: 'on' | 'shadow'): void {
    this.#counts[placeOf(layer, priority, mode)]++
  }
}

function placeOf(layer: ShedLayer, priority: Priority, mode: 'on' | 'shadow'): number {
  return (SHED_LAYERS.indexOf(layer) * PRIORITIES.length + priority) * 2 + (mode === 'on' ? 0 : 1)
}

function definedBounds({ delayMs, inFlight, latencyMs }: Partial<WorkerBounds> = {}): Partial<WorkerBounds> {
  return { ...(delayMs !== undefined && { delayMs }), inFlight, latencyMs }
}

/** Returns the rule that decisions show for a layer: 503, because the caller has done nothing wrong. */
function shedRule(layer: ShedLayer, priority: Priority): Rule {
  const name = `${layer}_shed`
  const headers = [[SHED_FIELD, layer] as const]
  const response = Object.freeze({ status: 503, body: undefined, headers })
  return Object.freeze({
    ...DEFAULTS,
    id: name,
    name,
    isNamed: true,
    limit: NOTHING,
    response,
    retryAfterJitterMs: RETRY_MS[priority],
    path: [],
  })
}

function shedCharge(layer: 'worker' | 'upstream', priority: Priority): PlannedCharge {
  const rule = shedRule(layer, priority)
  const waitMs = RETRY_MS[priority]
  const verdict: Verdict = Object.freeze({ ...refusedVerdict(0, 0, waitMs, waitMs), shed: layer })
  const about = { domain: '', entries: [], descriptor: 0 }
  return Object.freeze({ key: '', limit: NOTHING, cost: 1, enforce: true, policy: rule, rule, verdict, ...about })
}

/**
 * The charge of the fleet's counter, enforced and not. Nodes count locally and exchange counts ten times a second: no
 * request waits for it, and no server of a cluster has one key that every request reads.
 */
function fleetCharges(options: FleetShedding, keys: KeyEncoder): { on: PlannedCharge; shadow: PlannedCharge } {
  const limit = compileLimit({ limit: fleetAllotment(options), window: 1_000 })
  const rule: Rule = Object.freeze({ ...FLEET_RULES[0], limit, consistency: 'eventual' as const })
  const key = keys.encode(`${FLEET_DOMAIN}${options.name === undefined ? '' : `/${options.name}`}`, rule, [])
  const about = { domain: '', entries: [], descriptor: 0 }
  const charge = { key, limit, cost: 1, policy: rule, rule, ...about }
  return { on: Object.freeze({ ...charge, enforce: true }), shadow: Object.freeze({ ...charge, enforce: false }) }
}

const FLEET_RULES: readonly Rule[] = PRIORITIES.map((priority) => shedRule('fleet', priority))
