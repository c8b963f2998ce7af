import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { FailurePolicy } from 'sluice/internal/engine/failure-policy'
import { sharedHash } from 'sluice/internal/engine/shared-hash'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import type { OpenStore, StoreEvents } from 'sluice/internal/stores/open/opened-store'
import type { GrpcServer } from '../../grpc/index.ts'
import { PEER_PARTITIONS } from '../../peers/partitions.ts'
import { PeerCluster } from '../../peers/peer-cluster.ts'
import { peerToken, registerPeers } from '../../peers/peer-door.ts'
import { PeersStore } from '../../peers/peers-store.ts'
import type { Log } from '../log/log.ts'
import type { PeersConfig } from '../settings/peer-settings.ts'

/** A store of a cluster of nodes. */
export interface OpenPeers extends OpenStore {
  /** Has this node answer others. Others are met when its port is open. */
  register(server: GrpcServer): void
  /** Meets the other nodes. Resolves when all of them were asked once. */
  start(): Promise<void>
  /** Hands the counters of this node over. */
  leave(): Promise<void>
}

/** Callers are spread unevenly over partitions: one may keep this many times its share of counters. */
const UNEVEN = 4
const MOST_KEYS = 1_000_000

/** Opens counters that are kept by all nodes of a list together, each in the memory of one of them. */
export function openPeers({ discover, address, secret }: PeersConfig, log: Log, events: StoreEvents): OpenPeers {
  const hash = sharedHash(secret)
  const token = peerToken(secret)
  const partitions = { hash: sharedHash(secret), maxKeys: Math.ceil((UNEVEN * MOST_KEYS) / PEER_PARTITIONS) }
  const cluster = new PeerCluster({ token, partitions, discover, address, log: peerLog(log) })
  const peers = new PeersStore(cluster)
  const local = new MemoryStore()
  const policy = new FailurePolicy(peers, local, events)
  let met = (): void => {}
  const ready = new Promise<void>((resolve) => {
    met = resolve
  })
  return {
    store: policy,
    parts: { hash, partitions: PEER_PARTITIONS, keyPrefix: '' },
    keys: new KeyEncoder(hash, PEER_PARTITIONS),
    memory: undefined,
    redis: undefined,
    connectedRedis: undefined,
    name: 'in the memory of peers',
    ready,
    claim: (domain) => domain,
    stats: () => ({ ...statsOf(cluster.stores(), local), ...cluster.stats, ...peers.stats }),
    register: (server) => registerPeers(server, cluster, peers, token),
    start: () => cluster.start().then(met),
    leave: () => cluster.leave(),
    close: async () => {
      met()
      await policy.close()
    },
  }
}

function statsOf(stores: readonly MemoryStore[], local: MemoryStore): Readonly<Record<string, number>> {
  const counts = { keys: 0, evicted: 0, shared: 0 }
  for (const { stats } of stores) {
    counts.keys += stats.keys
    counts.evicted += stats.evicted
    counts.shared += stats.shared
  }
  const { keys, evicted, shared } = local.stats
  return { ...counts, localKeys: keys, localEvicted: evicted, localShared: shared }
}

function peerLog(log: Log) {
  return {
    joined: (peer: string) => log.info('peers.joined', `peer ${peer} is reached`, { peer }),
    left: (peer: string, isPlanned: boolean) =>
      isPlanned
        ? log.info('peers.left', `peer ${peer} has handed over its counters and left`, { peer })
        : log.error('peers.unreachable', `peer ${peer} cannot be reached; its callers follow on_store_failure`, {
            peer,
          }),
    lost: (partitions: number, peer: string) =>
      log.error(
        'peers.lost',
        `peer ${peer} ended with ${partitions} of ${PEER_PARTITIONS} partitions: their counters are lost`,
        {
          peer,
          partitions,
        },
      ),
  }
}
