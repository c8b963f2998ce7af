import type { Priority, PriorityWord } from '../core/shedding/priority.ts'
import type { LayerMode } from '../engine/load-shedder.ts'

/** When requests are shed, with 503, and which: critical ones never are. */
export interface ShedOptions<R> {
  /** `shadow` counts what would be shed. Default: on. */
  readonly mode?: LayerMode
  /**
   * How much a request matters. Default: as the rules that apply say, else by method: GET, HEAD and OPTIONS read, all
   * others write. Undefined selects the default. Trust a header only from a caller you trust.
   */
  readonly priority?: PriorityWord | Priority | ((request: R) => PriorityWord | Priority | undefined)
  /** The mean delay of the event loop at which the process is used to 100 %. Default: 50ms. */
  readonly delay?: string
  /** Concurrent requests that count as 100 %. Default: not considered. */
  readonly inFlight?: number
  /** The mean time of a request at which it is. Default: it does not matter. */
  readonly latency?: string
  /** How long it must be above 70 % before the first request is shed. Default: 1s. */
  readonly after?: string
  /** How long it takes to shed all requests of one priority. Default: 5s. */
  readonly over?: string
  /** Requests a second that all processes on the store can serve. Default: unknown, so none is shed because of it. */
  readonly capacity?: number
  /** The share of `capacity` that is kept for critical requests. Default: 0.2. */
  readonly reserved?: number
  /** Separates fleets that share a store. Default: all processes of the store are one fleet. */
  readonly fleet?: string
}

/** Load shedding with the code for it, as `shed()` of `sluice/shed` returns it: what a bundler can follow. */
export interface ShedPlace<R> {
  readonly options: ShedOptions<R> | true
  /** What sheds: a ShedCode. */
  readonly code: object
}
