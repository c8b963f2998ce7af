import type { IncomingHttpHeaders } from 'node:http'
import type { RequestContext } from 'sluice/internal/core/request'
import type { Metadata } from '../grpc/index.ts'

/** W3C Trace Context: version, trace, span, flags. What later versions add comes behind another dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]*)?$/
const MAX_TRACEPARENT = 256
/** As W3C has it: 512 characters must be passed on, and at most 32 members. */
const MAX_TRACESTATE = 512
const TRACESTATE = /^[\x20-\x7e]+$/
const SAMPLED = 0x01

type Fields = readonly [parent: string | undefined, state: string | undefined]

/**
 * Parses a request's trace on first use: most requests are neither sampled nor logged, and cost no more than this
 * object. Malformed fields are ignored: a trace must never decide whether a request is answered.
 */
class RequestTrace implements RequestContext {
  readonly startedAtMs = performance.now()
  #fields: (() => Fields) | undefined
  #read: Omit<RequestContext, 'startedAtMs'> = NO_TRACE

  constructor(fields: () => Fields) {
    this.#fields = fields
  }

  get traceId(): string | undefined {
    return this.#trace.traceId
  }

  get parentSpanId(): string | undefined {
    return this.#trace.parentSpanId
  }

  get isSampled(): boolean | undefined {
    return this.#trace.isSampled
  }

  get traceState(): string | undefined {
    return this.#trace.traceState
  }

  get #trace(): Omit<RequestContext, 'startedAtMs'> {
    if (this.#fields !== undefined) this.#read = traceOf(...this.#fields())
    this.#fields = undefined
    return this.#read
  }
}

const NO_TRACE = Object.freeze({})

/** Returns what the metadata of a call over gRPC says of its trace. */
export function callContext(metadata: Metadata): RequestContext {
  return new RequestTrace(() => fieldsOf(metadata))
}

/** Returns what the fields of a request over HTTP say of its trace. */
export function requestContext(headers: IncomingHttpHeaders): RequestContext {
  return new RequestTrace(() => [one(headers.traceparent), one(headers.tracestate)])
}

function fieldsOf(metadata: Metadata): Fields {
  let parent: string | undefined
  let state: string | undefined
  for (const [name, value] of metadata.entries()) {
    // Joined, as HTTP joins fields: of two parents none counts.
    if (name === 'traceparent') parent = parent === undefined ? value : `${parent},${value}`
    else if (name === 'tracestate') state = state === undefined ? value : `${state},${value}`
    if ((parent?.length ?? 0) > MAX_TRACEPARENT) break
  }
  return [parent, state]
}

function traceOf(parent: string | undefined, state: string | undefined): Omit<RequestContext, 'startedAtMs'> {
  if (parent === undefined || parent.length > MAX_TRACEPARENT) return NO_TRACE
  const [, version, traceId, parentSpanId, flags, more] = TRACEPARENT.exec(parent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return NO_TRACE
  if (isZero(traceId) || isZero(parentSpanId)) return NO_TRACE
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0
  const isGood = state !== undefined && state.length <= MAX_TRACESTATE && TRACESTATE.test(state)
  return { traceId, parentSpanId, isSampled, ...(isGood && { traceState: state }) }
}

function isZero(id: string): boolean {
  return /^0+$/.test(id)
}

function one(field: string | string[] | undefined): string | undefined {
  return typeof field === 'string' || field === undefined ? field : field.join(',')
}
