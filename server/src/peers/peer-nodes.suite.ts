import { onTestFinished } from 'vitest'
import { KeyEncoder } from '../../../src/core/key-encoder.ts'
import type { Limit } from '../../../src/core/limit.ts'
import { compileObjects } from '../../../src/core/rules/compile.ts'
import type { Charge } from '../../../src/engine/ports.ts'
import { sharedHash } from '../../../src/engine/shared-hash.ts'
import { until } from '../../../tests/servers/until.mjs'
import { GrpcServer } from '../grpc/index.ts'
import { ownersOf, PEER_PARTITIONS } from './partitions.ts'
import { PeerCluster, type PeerLog } from './peer-cluster.ts'
import { peerToken, registerPeers } from './peer-door.ts'
import { PeersStore } from './peers-store.ts'

/** However busy the machine is, nodes answer each other. */
const WHOLE_TIME_MS = 60_000
const timeoutsMs = { hello: WHOLE_TIME_MS, give: WHOLE_TIME_MS, leave: WHOLE_TIME_MS }
const SECRET = 'the secret of the test'

/** A node of a cluster, with its gRPC port, in this process. */
export interface PeerNode {
  readonly address: string
  readonly cluster: PeerCluster
  readonly store: PeersStore
  readonly lines: string[]
  /** Hands over, and ends. */
  leave(): Promise<void>
  /** Ends without a word. */
  kill(): Promise<void>
}

/** Some nodes that find each other in one list, which the test may change. */
export class PeerNodes {
  readonly list: string[] = []
  readonly nodes: PeerNode[] = []

  /** Starts a node. It is in the list before it asks who else is. */
  async add(secret = SECRET): Promise<PeerNode> {
    const server = new GrpcServer()
    const { port } = (await server.listen({ host: '127.0.0.1', port: 0 })) as { port: number }
    const address = `127.0.0.1:${port}`
    this.list.push(address)
    const token = peerToken(secret)
    const lines: string[] = []
    const log: PeerLog = {
      joined: (name) => lines.push(`joined ${name}`),
      left: (name, isPlanned) => lines.push(`${isPlanned ? 'left' : 'unreachable'} ${name}`),
      lost: (partitions, name) => lines.push(`lost ${partitions} ${name}`),
    }
    const partitions = { hash: sharedHash(secret), maxKeys: 10_000 }
    const cluster = new PeerCluster({ token, partitions, discover: async () => [...this.list], log, timeoutsMs })
    const store = new PeersStore(cluster, WHOLE_TIME_MS)
    registerPeers(server, cluster, store, token)
    const end = async (): Promise<void> => {
      cluster.close()
      await server.close()
    }
    onTestFinished(end)
    const node: PeerNode = {
      address,
      cluster,
      store,
      lines,
      leave: async () => {
        await cluster.leave()
        this.list.splice(this.list.indexOf(address), 1)
        this.nodes.splice(this.nodes.indexOf(node), 1)
        await end()
      },
      kill: async () => {
        this.nodes.splice(this.nodes.indexOf(node), 1)
        await end()
      },
    }
    this.nodes.push(node)
    await cluster.start()
    return node
  }

  /** Starts several, and waits until each partition is at its owner. */
  async start(count: number): Promise<readonly PeerNode[]> {
    for (let i = 0; i < count; i++) await this.add()
    await this.settled()
    return this.nodes
  }

  /** Resolves when every partition is at its owner, and all know. */
  async settled(): Promise<void> {
    const owners = ownersOf(this.nodes.map(({ address }) => address))
    await until('every partition is at its owner', async () => {
      await Promise.all(this.nodes.map(({ cluster }) => cluster.meet()))
      return this.nodes.every(({ address, cluster }) => {
        const { held } = cluster.hello()
        return owners.every((owner, at) => (held[at] === '1') === (owner === address))
      })
    })
    await Promise.all(this.nodes.map(({ cluster }) => cluster.meet()))
  }
}

const keys = new KeyEncoder(sharedHash(SECRET), PEER_PARTITIONS)
const { domains } = compileObjects([
  {
    domain: 'shop',
    descriptors: [{ key: 'user', rate_limit: { unit: 'day', requests_per_unit: 1 } }],
  },
])
const [rule] = domains.get('shop')?.root.branches.get('user')?.any?.rules ?? []

/** Returns the key of a caller, as the service builds it. */
export function keyOf(caller: string): string {
  return keys.encode('shop', rule, [{ key: 'user', value: caller }])
}

export function charge(caller: string, limit: Limit, options: Partial<Charge> = {}): Charge {
  return { key: keyOf(caller), limit, cost: 1, enforce: true, ...options }
}
