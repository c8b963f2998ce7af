import type { GateRefusal } from '../gate.ts'
import { grpcRefusal, isGrpc } from '../grpc-refusal.ts'
import { httpDate } from '../outgoing-fields.ts'
import type { RequestHead } from '../request-head.ts'
import type { Asker } from '../sides.ts'

/** The answer to clients that ask for the options of the last hop. */
export const LAST_HOP: GateRefusal = { kind: 'refused', status: 204, headers: [], body: '' }

/** Answers a request without an upstream, a call of gRPC in its own words. */
export function writeOwn(asker: Asker, { method, fields }: RequestHead, id: string, answer: GateRefusal): void {
  const { status, headers, body } = isGrpc(fields.value('content-type')) ? grpcRefusal(answer) : answer
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const isBare = status === 204 || status === 304
  const hasBody = method !== 'HEAD' && !isBare && bytes.length > 0
  asker.answer(status, [...headers, 'date', httpDate(), 'x-request-id', id], isBare ? -1 : bytes.length, hasBody)
  if (hasBody) asker.write(bytes)
  asker.end(undefined)
}
