import type { StreamCall, UnaryCall } from '../../server/src/grpc/call.ts'
import type { GrpcLimitOptions } from '../../server/src/grpc/limits.ts'
import type { GrpcTlsOptions } from '../../server/src/grpc/listener.ts'
import type { Peer } from '../../server/src/grpc/peer.ts'
import { GrpcServer } from '../../server/src/grpc/server.ts'
import type { GrpcStats } from '../../server/src/grpc/stats.ts'
import type { GrpcStatus } from '../../server/src/grpc/status.ts'
import type { Clock } from '../../server/src/net/clock.ts'
import { decodeEcho, encodeEcho } from './echo-message.ts'

/** The methods of the server that the tests call. */
export const ECHO = {
  /** Answers with the message, and with the fields x-echo and x-echo-bin of the request as headers and as trailers. */
  unary: '/test.Echo/Unary',
  /** Answers with `count` messages of the text, numbered. */
  stream: '/test.Echo/Stream',
  /** Fails with the status `count` and the message `text`. */
  fail: '/test.Echo/Fail',
  /** Never answers. */
  hold: '/test.Echo/Hold',
  /** Answers when the test says so. */
  late: '/test.Echo/Late',
  /** Throws. */
  crash: '/test.Echo/Crash',
} as const

export interface EchoOptions {
  readonly limits?: GrpcLimitOptions
  readonly tls?: GrpcTlsOptions
  readonly clock?: Clock
}

/** A GrpcServer with the methods of ECHO, which keeps count of what its handlers see. */
export class EchoServer {
  readonly server: GrpcServer
  /** Calls that wait in `hold` or `late`. */
  held = 0
  cancelled = 0
  /** What handlers threw, beside what `crash` throws. */
  readonly errors: unknown[] = []
  /** The peer of every call of `unary`, one for each connection. */
  readonly #peers = new Set<Peer>()
  #waiting: (() => void)[] = []
  #address = ''

  constructor(options: EchoOptions = {}) {
    this.server = new GrpcServer({
      ...options,
      onError: (error, path) => {
        if (path !== ECHO.crash) this.errors.push(error)
      },
    })
    this.server
      .unary(ECHO.unary, (call) => this.#echo(call))
      .unary(ECHO.fail, (call) => {
        const { text, count } = decodeEcho(call.message)
        call.fail(count as GrpcStatus, text)
      })
      .unary(ECHO.hold, (call) => this.#hold(call))
      .unary(ECHO.late, (call) => {
        const message = Buffer.from(call.message)
        this.#hold(call)
        this.#waiting.push(() => {
          if (call.respond(message)) this.held--
        })
      })
      .unary(ECHO.crash, () => {
        throw new Error('a secret of the handler')
      })
      .serverStreaming(ECHO.stream, stream)
  }

  get stats(): GrpcStats {
    return this.server.stats
  }

  get peers(): readonly Peer[] {
    return [...this.#peers]
  }

  /** The address of a TCP port, as "127.0.0.1:1234". */
  get address(): string {
    return this.#address
  }

  async listen(path?: string): Promise<this> {
    const address = await this.server.listen(path === undefined ? { host: '127.0.0.1', port: 0 } : { path })
    if ('port' in address) this.#address = `127.0.0.1:${address.port}`
    return this
  }

  /** Answers the calls of `late`. */
  release(): void {
    for (const answer of this.#waiting.splice(0)) answer()
  }

  /** Lets go of the calls that were seen. */
  forget(): void {
    this.#waiting = []
    this.#peers.clear()
  }

  drain(graceMs = 10_000): Promise<void> {
    return this.server.drain(graceMs)
  }

  close(): Promise<void> {
    return this.server.close()
  }

  #echo(call: UnaryCall): void {
    this.#peers.add(call.peer)
    const text = call.metadata.get('x-echo')
    const bytes = call.metadata.getBinary('x-echo-bin')
    for (const set of [call.setHeader.bind(call), call.setTrailer.bind(call)]) {
      if (text !== undefined) set('x-echo', text)
      if (bytes !== undefined) set('x-echo-bin', bytes)
    }
    call.respond(call.message)
  }

  #hold(call: UnaryCall): void {
    this.held++
    call.onCancel(() => {
      this.held--
      this.cancelled++
    })
  }
}

/** Writes as fast as the client reads, and no faster. */
function stream(call: StreamCall): void {
  const { text, count } = decodeEcho(call.message)
  let next = 0
  const goOn = () => {
    while (next < count) if (!call.write(encodeEcho({ text, count: next++ }))) return
    call.end()
  }
  call.onDrain(goOn)
  goOn()
}

/** Starts an echo server on a free TCP port, or on a Unix socket. */
export function startEcho({ path, ...options }: EchoOptions & { readonly path?: string } = {}): Promise<EchoServer> {
  return new EchoServer(options).listen(path)
}
