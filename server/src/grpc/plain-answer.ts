import type { HeaderField } from './hpack/hpack-encoder.ts'
import { GrpcStatus } from './status.ts'

/** What a request gets that is no gRPC call. */
export interface PlainAnswer {
  readonly fields: readonly HeaderField[]
  readonly body: Uint8Array
}

const TEXTS: Readonly<Record<number, string>> = {
  405: 'This server speaks gRPC: requests must be POST.\n',
  415: 'This server speaks gRPC: the content-type must be application/grpc.\n',
}

const ANSWERS = new Map(Object.entries(TEXTS).map(([status, text]) => [Number(status), answer(Number(status), text)]))

// Most probably a call, whose content-type lies beyond what was read: as headers alone, every gRPC client reads its
// status.
ANSWERS.set(431, {
  fields: [
    { name: ':status', value: '431' },
    { name: 'content-type', value: 'application/grpc' },
    { name: 'grpc-status', value: String(GrpcStatus.RESOURCE_EXHAUSTED) },
    { name: 'grpc-message', value: 'the headers of this request are too large' },
  ],
  body: new Uint8Array(0),
})

function answer(status: number, text: string): PlainAnswer {
  const body = Buffer.from(text, 'latin1')
  const fields: HeaderField[] = [
    { name: ':status', value: String(status) },
    { name: 'content-type', value: 'text/plain; charset=utf-8' },
    { name: 'content-length', value: String(body.length) },
  ]
  if (status === 405) fields.push({ name: 'allow', value: 'POST' })
  return { fields, body }
}

/** Returns the answer with a status of 405, 415 or 431. */
export function plainAnswer(status: number): PlainAnswer {
  return ANSWERS.get(status)!
}
