import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { codecOf } from '../../server/src/protobuf/protos.suite.ts'

const METHODS = {
  check: ['/sluice.v1.Limiter/Check', 'sluice.v1.CheckRequest', 'sluice.v1.CheckResponse'],
  acquire: ['/sluice.v1.Limiter/Acquire', 'sluice.v1.AcquireRequest', 'sluice.v1.AcquireResponse'],
  envoy: [
    '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    'envoy.service.ratelimit.v3.RateLimitRequest',
    'envoy.service.ratelimit.v3.RateLimitResponse',
  ],
} as const

type Headers = Readonly<Record<string, string>>

/** Asks a running service over all of its doors. Answers are texts, those of errors too. */
export function callsTo({ url, grpc }: { readonly url: string; readonly grpc: string }) {
  const client = new Client(grpc, credentials.createInsecure())
  onTestFinished(() => client.close())
  /** Makes a call over gRPC; a Buffer is sent as it is. */
  const call = (method: keyof typeof METHODS, message: object, headers: Headers = {}): Promise<string> => {
    const [path, request, response] = METHODS[method]
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    return new Promise((resolve) => {
      client.makeUnaryRequest(
        path,
        (object: object) => (Buffer.isBuffer(object) ? object : codecOf(request).encode(object)),
        (bytes: Buffer) => bytes,
        message,
        metadata,
        (error: ServiceError | null, bytes?: Buffer) =>
          // As text, and byte by byte: what a reader of messages passes over is looked at, too.
          resolve(
            error === null
              ? `${JSON.stringify(codecOf(response).decode(bytes as Buffer))} ${bytes?.toString('latin1')}`
              : `${error.code}: ${error.details} ${JSON.stringify(error.metadata.getMap())}`,
          ),
      )
    })
  }
  const post = async (path: string, body: string, headers: Headers = {}): Promise<string> => {
    const response = await fetch(url + path, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    })
    return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`
  }
  return { call, post }
}
