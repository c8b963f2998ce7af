import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import protobuf from 'protobufjs'
import { onTestFinished } from 'vitest'

/** A ReceivedSpan is a span as a collector gets it. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly traceState: string | undefined
  readonly name: string
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
  /** How it was sent. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** What of opentelemetry/proto/collector/trace/v1 is needed to read spans. */
const PROTO = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`
const REQUEST = protobuf.parse(PROTO).root.lookupType('Request')

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[]
  }[]
}

interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly KeyValue[]
}

/** A collector on loopback that keeps what it gets, and ends with the test. */
export async function startReceiver(status = 200) {
  const spans: ReceivedSpan[] = []
  const bodies: string[] = []
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      bodies.push(body.toString('latin1'))
      const { url: path = '', headers } = request
      if (status === 200) for (const span of spansIn(body, headers)) spans.push({ ...span, path, headers })
      response.writeHead(status, { 'content-type': headers['content-type'] ?? '' }).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  onTestFinished(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, bodies, close }
}

function spansIn(body: Buffer, headers: IncomingHttpHeaders) {
  const isJson = headers['content-type'] === 'application/json'
  const sent = isJson ? (JSON.parse(body.toString()) as Sent) : decoded(body)
  return sent.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, traceState, name, ...span }) => ({
        traceId,
        spanId,
        parentSpanId: parentSpanId || undefined,
        traceState: traceState || undefined,
        name,
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        attributes: valuesOf(span.attributes ?? []),
        resource: valuesOf(resource.attributes),
      })),
    ),
  )
}

/** Reads protobuf, with ids as JSON has them. */
function decoded(body: Buffer): Sent {
  const options = { longs: String, bytes: String, defaults: true } as const
  const sent = REQUEST.toObject(REQUEST.decode(body), options) as Sent
  const hex = (id: string | undefined): string => Buffer.from(id ?? '', 'base64').toString('hex')
  return {
    resourceSpans: sent.resourceSpans.map(({ resource, scopeSpans }) => ({
      resource,
      scopeSpans: scopeSpans.map(({ spans }) => ({
        spans: spans.map((span) => ({
          ...span,
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parentSpanId: hex(span.parentSpanId),
        })),
      })),
    })),
  }
}

function valuesOf(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [kind, told] = Object.entries(value)[0]
      return [key, kind === 'intValue' ? Number(told) : told]
    }),
  )
}
