import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { RLS_REQUEST, RLS_RESPONSE } from '../../server/src/protobuf/protos.suite.ts'
import { SHOULD_RATE_LIMIT } from '../rls/rls-service.suite.ts'

/** A Filter is what the rate limit filter of an envoy.yaml says, as far as the documents use it. */
export interface Filter {
  readonly listenerPort: string
  readonly domain: string
  readonly actions: readonly { readonly header: string; readonly entry: string }[]
  /** The ports of the clusters that requests and questions go to. */
  readonly appPort: string
  readonly limiterPort: string
}

interface EnvoyFile {
  static_resources: {
    listeners: [{ address: Address; filter_chains: [{ filters: [{ typed_config: ConnectionManager }] }] }]
    clusters: {
      name: string
      load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: Address } }] }] }
    }[]
  }
}
interface Address {
  socket_address: { port_value: number }
}
interface ConnectionManager {
  http_filters: [{ typed_config: { domain: string; rate_limit_service: { grpc_service: GrpcService } } }]
  route_config: { virtual_hosts: [VirtualHost] }
}
interface GrpcService {
  envoy_grpc: { cluster_name: string }
}
interface VirtualHost {
  routes: [{ route: { cluster: string } }]
  rate_limits: { actions: { request_headers: { header_name: string; descriptor_key: string } }[] }[]
}

/** Reads an envoy.yaml. It throws where that has not the form that Envoy needs for it. */
export function readFilter(text: string): Filter {
  const { listeners, clusters } = (parse(text) as EnvoyFile).static_resources
  const manager = listeners[0].filter_chains[0].filters[0].typed_config
  const { domain, rate_limit_service } = manager.http_filters[0].typed_config
  const [host] = manager.route_config.virtual_hosts
  const portOf = (name: string): string => {
    const cluster = clusters.find((each) => each.name === name)
    if (cluster === undefined) throw new Error(`there is no cluster "${name}"`)
    return String(cluster.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value)
  }
  return {
    listenerPort: String(listeners[0].address.socket_address.port_value),
    domain,
    actions: host.rate_limits.flatMap(({ actions }) =>
      actions.map(({ request_headers: { header_name, descriptor_key } }) => ({
        header: header_name,
        entry: descriptor_key,
      })),
    ),
    appPort: portOf(host.routes[0].route.cluster),
    limiterPort: portOf(rate_limit_service.grpc_service.envoy_grpc.cluster_name),
  }
}

/**
 * Does for a test what Envoy does with such a filter: it asks the limiter over gRPC, answers 429 itself or calls the
 * app. It returns its address. `grpc` is called for each request: the limiter may have been restarted elsewhere.
 */
export async function startStandIn({ domain, actions }: Filter, app: string, grpc: () => string): Promise<string> {
  const server = createServer(async ({ headers, url }, response) => {
    const entries = actions.map(({ header, entry }) => ({ key: entry, value: headers[header] }))
    // As in Envoy: a descriptor whose header is missing is not sent.
    const descriptors = entries.every(({ value }) => value !== undefined) ? [{ entries }] : []
    const isOver = descriptors.length > 0 && (await ask(grpc(), { domain, descriptors })) === 'OVER_LIMIT'
    if (isOver) response.writeHead(429, { 'x-envoy-ratelimited': 'true' }).end()
    else response.end(await (await fetch(app + url)).text())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function ask(grpc: string, request: object): Promise<string> {
  const client = new Client(grpc, credentials.createInsecure())
  return new Promise<string>((resolve, reject) => {
    client.makeUnaryRequest(
      SHOULD_RATE_LIMIT,
      (message: object) => RLS_REQUEST.encode(message),
      (bytes: Buffer) => RLS_RESPONSE.decode(bytes) as object,
      request,
      (error: ServiceError | null, answer?: object) =>
        error === null ? resolve((answer as { overallCode: string }).overallCode) : reject(error),
    )
  }).finally(() => client.close())
}
