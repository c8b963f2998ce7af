import { checkOption, checkOptions } from '../core/check-options.ts'
import { parseDuration } from '../core/duration.ts'
import { got, SluiceError } from '../core/errors.ts'
import type { KeyEncoder } from '../core/key-encoder.ts'
import { DURATION, either, type Form, type FormsOf, FUNCTION, oneOf, TEXT, whole } from '../core/option-forms.ts'
import { methodPriority, PRIORITY_WORDS, type Priority, readPriority, rulePriority } from '../core/shedding/priority.ts'
import type { PlannedCharge } from '../engine/charge.ts'
import { LAYER_MODES, type LayerMode, LoadShedder } from '../engine/load-shedder.ts'
import type { CallerFinder } from './caller.ts'
import type { NewDecider } from './charge-planner.ts'
import { fullGateDecider } from './full-gate-decider.ts'
import {
  checkedPriorityHeader,
  isBelieved,
  PRIORITY_HEADER,
  type PriorityHeader,
  type PriorityHeaderOptions,
  readSaidPriority,
} from './priority-header.ts'
import type { RequestReader } from './request-reader.ts'
import type { ShedOptions } from './shed-options.ts'

const SHARE: Form = {
  expected: 'a number from 0 up to 1',
  is: (value) => typeof value === 'number' && value >= 0 && value < 1,
  isNumber: true,
}
const MAX_CAPACITY = 100_000_000

const SHED_FORMS: FormsOf<ShedOptions<never>> = {
  mode: oneOf(...LAYER_MODES),
  priority: either(oneOf(...PRIORITY_WORDS), whole(0, 3), FUNCTION),
  delay: DURATION,
  inFlight: whole(1, MAX_CAPACITY),
  latency: DURATION,
  after: DURATION,
  over: DURATION,
  capacity: whole(1, MAX_CAPACITY),
  reserved: SHARE,
  fleet: TEXT,
}

/** The code that sheds: it is loaded when a middleware asks for it. */
export interface ShedCode {
  /** Refuses options that there are not, and wrong values. */
  check(options: ShedOptions<never> | true, priorityHeader: PriorityHeaderOptions | string | undefined): void
  /** Reads the option `priorityHeader`. */
  header: typeof checkedPriorityHeader
  open<R>(options: ShedOptions<R> | true, parts: GateShedderParts<R>): GateShedder<R>
  readonly newDecider: NewDecider
}

export const SHED_CODE: ShedCode = {
  check(options, priorityHeader) {
    if (options !== true) checkOptions(options, SHED_FORMS, 'shed.')
    if (priorityHeader !== undefined) checkOption(priorityHeader, PRIORITY_HEADER, 'priorityHeader')
  },
  header: checkedPriorityHeader,
  open: (options, parts) => new GateShedder(options, parts),
  newDecider: fullGateDecider,
}

/** What a GateShedder needs of its gate. */
export interface GateShedderParts<R> {
  readonly keys: KeyEncoder
  readonly reader: Pick<RequestReader<R>, 'method' | 'header'>
  readonly finder: Pick<CallerFinder<R>, 'sender'>
  readonly header: PriorityHeader | undefined
  readonly report: (error: unknown) => void
}

/** The load shedder of a gate, and how it determines the priority of a request. */
export class GateShedder<R> {
  readonly shedder: LoadShedder
  readonly #priority: ShedOptions<R>['priority']
  readonly #parts: GateShedderParts<R>

  constructor(options: ShedOptions<R> | true, parts: GateShedderParts<R>) {
    const given = options === true ? {} : options
    this.#priority = given.priority
    this.#parts = parts
    const { mode = 'on', capacity, reserved, fleet } = given
    this.shedder = new LoadShedder({
      keys: parts.keys,
      worker: { mode, ...timesOf(given), inFlight: given.inFlight },
      fleet: capacity === undefined ? undefined : fleetOf({ mode, capacity, reserved, name: fleet }),
    })
  }

  /** Never throws: an error in the app's function counts as undefined. */
  priorityOf(request: R, charges: readonly PlannedCharge[]): Priority {
    const said = this.#said(request) ?? this.#given(request) ?? rulePriority(charges)
    return said ?? methodPriority(this.#parts.reader.method(request))
  }

  /** The priority that a trusted caller claims. */
  #said(request: R): Priority | undefined {
    const { header, finder, reader } = this.#parts
    if (header === undefined) return undefined
    const field = reader.header(request, header.name)
    return field === undefined || !isBelieved(header, finder.sender(request)) ? undefined : readSaidPriority(field)
  }

  #given(request: R): Priority | undefined {
    if (typeof this.#priority !== 'function') return readPriority(this.#priority)
    try {
      const said = this.#priority(request)
      const priority = readPriority(said)
      if (priority === undefined && said !== undefined) {
        const detail = `${got(said)}, expected ${PRIORITY_WORDS.join(', ')}, or nothing`
        this.#parts.report(new SluiceError('GATE_OPTIONS_INVALID', 'shed.priority', detail))
      }
      return priority
    } catch (error) {
      this.#parts.report(error)
      return undefined
    }
  }
}

function timesOf({ delay, latency, after, over }: ShedOptions<never>) {
  const ms = (text: string | undefined, name: string): number | undefined =>
    text === undefined ? undefined : Math.max(1, parseDuration(text, `shed.${name}`))
  const delayMs = ms(delay, 'delay')
  const afterMs = ms(after, 'after')
  const overMs = ms(over, 'over')
  return {
    latencyMs: ms(latency, 'latency'),
    ...(delayMs !== undefined && { delayMs }),
    ...(afterMs !== undefined && { afterMs }),
    ...(overMs !== undefined && { overMs }),
  }
}

interface Fleet {
  readonly mode: LayerMode
  readonly capacity: number
  readonly reserved: number | undefined
  readonly name: string | undefined
}

function fleetOf({ mode, capacity, reserved, name }: Fleet) {
  return { mode, capacity, ...(reserved !== undefined && { reserved }), ...(name !== undefined && { name }) }
}
