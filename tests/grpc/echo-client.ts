import * as grpc from '@grpc/grpc-js'
import { decodeEcho, type EchoMessage, encodeEcho } from './echo-message.ts'
import { ECHO } from './echo-server.ts'

export interface Reply {
  readonly message: EchoMessage
  readonly headers: grpc.Metadata
  readonly trailers: grpc.Metadata
}

export interface Asked {
  readonly metadata?: grpc.Metadata
  readonly options?: grpc.CallOptions
  /** Called with the call as soon as it is made. */
  readonly onCall?: (call: grpc.ClientUnaryCall) => void
}

/** A client of another make, @grpc/grpc-js, for the methods of the echo server. */
export class EchoClient {
  readonly #client: grpc.Client

  constructor(address: string, credentials = grpc.credentials.createInsecure(), options: grpc.ClientOptions = {}) {
    // Without this, clients of one process share their connections.
    this.#client = new grpc.Client(address, credentials, { 'grpc.use_local_subchannel_pool': 1, ...options })
  }

  close(): void {
    this.#client.close()
  }

  /** Resolves with the reply, and rejects with a grpc.ServiceError. */
  unary(path: string, message: EchoMessage, { metadata, options, onCall }: Asked = {}): Promise<Reply> {
    return new Promise((resolve, reject) => {
      let headers = new grpc.Metadata()
      let reply: EchoMessage | undefined
      const call = this.#client.makeUnaryRequest(
        path,
        encodeEcho,
        decodeEcho,
        message,
        metadata ?? new grpc.Metadata(),
        options ?? {},
        (error, value) => {
          if (error) reject(error)
          else reply = value
        },
      )
      call.on('metadata', (received) => {
        headers = received
      })
      call.on('status', ({ metadata: trailers }) => {
        if (reply !== undefined) resolve({ message: reply, headers, trailers })
      })
      onCall?.(call)
    })
  }

  echo(text: string, asked?: Asked): Promise<Reply> {
    return this.unary(ECHO.unary, { text, count: 0 }, asked)
  }

  stream(message: EchoMessage, options: grpc.CallOptions = {}): grpc.ClientReadableStream<EchoMessage> {
    return this.#client.makeServerStreamRequest(
      ECHO.stream,
      encodeEcho,
      decodeEcho,
      message,
      new grpc.Metadata(),
      options,
    )
  }
}

/** Resolves with the error of a call that must fail. */
export async function statusOf(call: Promise<unknown>): Promise<grpc.ServiceError> {
  try {
    await call
  } catch (error) {
    return error as grpc.ServiceError
  }
  throw new Error('the call did not fail')
}
