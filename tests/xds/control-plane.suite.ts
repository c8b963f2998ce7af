import { type Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { REQUEST, RESPONSE, resourceOf, type SeenRequest, TYPE_URL } from './protos.suite.ts'

type Stream = ServerDuplexStream<SeenRequest, object>

interface Snapshot {
  readonly version: string
  readonly resources: readonly object[]
}

/** A Watch is a client that has all there is, and waits for more. */
interface Watch {
  readonly stream: Stream
  readonly nodeId: string
  nonce: string
  isWaiting: boolean
  version: string
}

export interface ControlPlaneOptions {
  readonly port?: number
  readonly credentials?: ServerCredentials
}

/**
 * A ControlPlane sends rate limits to clients, on @grpc/grpc-js and protobufjs. It does what the snapshot cache of
 * go-control-plane does: a node without a snapshot hears nothing; a request that names another version than there is, a refusal
 * too, is answered at once; one that names this version waits for the next; one with a nonce of an older answer is ignored.
 */
export class ControlPlane {
  readonly requests: SeenRequest[] = []
  /** The headers of each call. */
  readonly calls: Metadata[] = []
  readonly #server: Server
  readonly #snapshots = new Map<string, Snapshot>()
  readonly #watches = new Set<Watch>()
  #nonces = 0
  port = 0

  private constructor(server: Server) {
    this.#server = server
  }

  /** Starts one on loopback. It ends with the test. */
  static async start({ port = 0, credentials }: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
    const plane = new ControlPlane(server)
    server.addService(
      {
        StreamAggregatedResources: {
          path: '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
          requestStream: true,
          responseStream: true,
          requestSerialize: (value: object) => REQUEST.encode(value),
          requestDeserialize: (bytes: Buffer) => REQUEST.decode<SeenRequest>(bytes),
          responseSerialize: (value: object) => RESPONSE.encode(value),
          responseDeserialize: (bytes: Buffer) => RESPONSE.decode(bytes),
        },
      },
      { StreamAggregatedResources: (stream: Stream) => plane.#serve(stream) },
    )
    plane.port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${port}`, credentials ?? ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      )
    })
    onTestFinished(() => plane.stop())
    return plane
  }

  /** Puts rate limits into the place of those that a node has. */
  set(nodeId: string, version: string, configs: readonly object[]): void {
    this.setResources(nodeId, version, configs.map(resourceOf))
  }

  /** setResources is set for resources of any kind. */
  setResources(nodeId: string, version: string, resources: readonly object[]): void {
    this.#snapshots.set(nodeId, { version, resources })
    for (const watch of this.#watches) if (watch.nodeId === nodeId) this.#answer(watch)
  }

  /** The requests that tell what became of an answer. */
  get acks(): readonly SeenRequest[] {
    return this.requests.filter(({ response_nonce, error_detail }) => response_nonce && !error_detail)
  }

  get nacks(): readonly SeenRequest[] {
    return this.requests.filter(({ error_detail }) => error_detail)
  }

  /** Ends all calls with a status. */
  end(code: number, details: string): void {
    for (const { stream } of this.#watches) stream.emit('error', { code, details })
  }

  /** Asks all clients to connect anew, as a server of a certain age does. */
  leave(): void {
    this.#server.drain(`127.0.0.1:${this.port}`, 1_000)
  }

  stop(): void {
    this.#server.forceShutdown()
  }

  #serve(stream: Stream): void {
    this.calls.push(stream.metadata)
    let watch: Watch | undefined
    stream.on('data', (request: SeenRequest) => {
      this.requests.push(request)
      const { node, type_url, response_nonce = '', version_info: version = '' } = request
      if (type_url !== TYPE_URL) return
      watch ??= { stream, nodeId: node?.id ?? '', nonce: '', isWaiting: true, version }
      if (response_nonce !== watch.nonce) return
      watch.isWaiting = true
      watch.version = version
      this.#watches.add(watch)
      this.#answer(watch)
    })
    const leave = (): void => {
      if (watch !== undefined) this.#watches.delete(watch)
    }
    stream.on('end', () => {
      leave()
      stream.end()
    })
    stream.on('cancelled', leave)
    stream.on('error', leave)
  }

  #answer(watch: Watch): void {
    const snapshot = this.#snapshots.get(watch.nodeId)
    if (snapshot === undefined || !watch.isWaiting || watch.version === snapshot.version) return
    watch.nonce = String(++this.#nonces)
    watch.isWaiting = false
    const { version, resources } = snapshot
    watch.stream.write({ version_info: version, type_url: TYPE_URL, nonce: watch.nonce, resources })
  }
}
