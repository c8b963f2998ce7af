import type { IncomingHttpHeaders } from 'node:http'
import type { CheckRequest, RequestContext } from 'sluice/internal/core/request'
import type { Metadata } from '../grpc/index.ts'

/** W3C Trace Context: version, trace, span, flags. What later versions add comes behind another dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]*)?$/
const MAX_TRACEPARENT = 256
/** As W3C has it: 512 characters have to be passed on, and nobody passes on more than 32 members. */
const MAX_TRACESTATE = 512
const TRACESTATE = /^[\x20-\x7e]+$/
const SAMPLED = 0x01

/** callContext is what the metadata of a call over gRPC says of its trace. */
export function callContext(metadata: Metadata): RequestContext {
  let parent: string | undefined
  let state: string | undefined
  for (const [name, value] of metadata.entries()) {
    // Joined, as HTTP joins fields: of two parents none counts.
    if (name === 'traceparent') parent = parent === undefined ? value : `${parent},${value}`
    else if (name === 'tracestate') state = state === undefined ? value : `${state},${value}`
    if ((parent?.length ?? 0) > MAX_TRACEPARENT) break
  }
  return contextOf(parent, state)
}

/** requestContext is what the fields of a request over HTTP say of its trace. */
export function requestContext({ traceparent, tracestate }: IncomingHttpHeaders): RequestContext {
  return contextOf(one(traceparent), one(tracestate))
}

/** withContext is a request with what is known beside it. */
export function withContext<R extends CheckRequest>(request: R, context: RequestContext | undefined): R {
  return context === undefined ? request : { ...request, context }
}

/** contextOf ignores what is malformed: a trace must never decide whether a request is answered. */
function contextOf(parent: string | undefined, state: string | undefined): RequestContext {
  const startedAtMs = performance.now()
  if (parent === undefined || parent.length > MAX_TRACEPARENT) return { startedAtMs }
  const [, version, traceId, parentSpanId, flags, more] = TRACEPARENT.exec(parent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return { startedAtMs }
  if (isZero(traceId) || isZero(parentSpanId)) return { startedAtMs }
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0
  const isGood = state !== undefined && state.length <= MAX_TRACESTATE && TRACESTATE.test(state)
  return { startedAtMs, traceId, parentSpanId, isSampled, ...(isGood && { traceState: state }) }
}

function isZero(id: string): boolean {
  return /^0+$/.test(id)
}

function one(field: string | string[] | undefined): string | undefined {
  return typeof field === 'string' || field === undefined ? field : field.join(',')
}
