import type { RequestContext } from 'sluice/internal/core/request'
import { describe, expect, it, vi } from 'vitest'
import { Metadata } from '../grpc/metadata.ts'
import { callContext, requestContext } from './trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const GOOD = `00-${TRACE}-${SPAN}-01`

/** Asks for all, and has what is known. */
function readOf({ startedAtMs, traceId, parentSpanId, isSampled, traceState }: RequestContext): RequestContext {
  return JSON.parse(JSON.stringify({ startedAtMs, traceId, parentSpanId, isSampled, traceState })) as RequestContext
}

/** Reads fields as they come over gRPC, and as they come over HTTP: what is read is the same. */
function bothOf(...fields: [name: string, value: string][]) {
  const call = readOf(callContext(new Metadata(fields.flat())))
  const headers: Record<string, string> = {}
  for (const [name, value] of fields) headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  const { startedAtMs, ...read } = readOf(requestContext(headers))
  expect({ ...call, startedAtMs }).toEqual({ startedAtMs, ...read })
  expect(startedAtMs).toBeGreaterThan(0)
  return read
}

describe('the trace of a request', () => {
  it('is not read before it is needed', () => {
    const metadata = new Metadata(['traceparent', GOOD])
    const read = vi.spyOn(metadata, 'entries')
    const call = callContext(metadata)
    expect(call.startedAtMs).toBeGreaterThan(0)
    expect(read).not.toHaveBeenCalled()
    expect([call.traceId, call.isSampled]).toEqual([TRACE, true])
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('is read from traceparent and tracestate', () => {
    const read = bothOf(['traceparent', GOOD], ['tracestate', 'a=1,b=2'])
    expect(read).toEqual({ traceId: TRACE, parentSpanId: SPAN, isSampled: true, traceState: 'a=1,b=2' })
  })

  it.each([
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-02`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`cc-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ])('is taken of %s', (traceparent, isSampled) => {
    expect(bothOf(['traceparent', traceparent])).toEqual({ traceId: TRACE, parentSpanId: SPAN, isSampled })
  })

  it.each([
    '',
    'x',
    GOOD.toUpperCase(),
    `${GOOD}-more`,
    `${GOOD} `,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `0-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01more`,
    `cc-${TRACE}-${SPAN}-01-${'a'.repeat(300)}`,
    `cc-${TRACE}-${SPAN}-01-\u0000`,
  ])('is ignored where it is malformed: %j', (traceparent) => {
    expect(bothOf(['traceparent', traceparent], ['tracestate', 'a=1'])).toEqual({})
  })

  it('is ignored where there are two', () => {
    expect(bothOf(['traceparent', GOOD], ['traceparent', GOOD])).toEqual({})
  })

  it.each(['', 'a'.repeat(513), 'a=\u0001', 'a=é'])('is read without a tracestate that is malformed', (tracestate) => {
    expect(bothOf(['traceparent', GOOD], ['tracestate', tracestate])).toMatchObject({ traceId: TRACE })
    expect(bothOf(['traceparent', GOOD], ['tracestate', tracestate])).not.toHaveProperty('traceState')
  })
})
