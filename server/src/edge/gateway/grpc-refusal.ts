import type { GateRefusal } from './gate.ts'

/** Returns whether a request is a call of gRPC, by its Content-Type. */
export function isGrpc(contentType: string | undefined): boolean {
  return contentType?.startsWith('application/grpc') === true && !contentType.startsWith('application/grpc-web')
}

/** The gRPC status for each HTTP status, as gRPC maps them; a caller over its limit is RESOURCE_EXHAUSTED. */
const STATUSES: ReadonlyMap<number, number> = new Map([
  [400, 13],
  [401, 16],
  [403, 7],
  [404, 12],
  [408, 4],
  [413, 8],
  [429, 8],
  [431, 8],
  [500, 13],
  [501, 12],
  [502, 14],
  [503, 14],
  [504, 4],
])

/** Says the same to a client of gRPC: status 200, and the reason in fields that it reads. */
export function grpcRefusal({ status, headers, body }: GateRefusal): GateRefusal {
  const kept = headers.filter((_, i) => !/^content-/i.test(headers[i - (i % 2)] as string))
  const code = STATUSES.get(status) ?? 2
  const message = encodeURIComponent(detailOf(String(body))).replaceAll('%20', ' ')
  const fields = [...kept, 'content-type', 'application/grpc', 'grpc-status', String(code), 'grpc-message', message]
  return { kind: 'refused', status: 200, headers: fields, body: '' }
}

function detailOf(body: string): string {
  try {
    const { detail } = JSON.parse(body) as { detail?: unknown }
    return typeof detail === 'string' ? detail : body
  } catch {
    return body.slice(0, 1_024)
  }
}
