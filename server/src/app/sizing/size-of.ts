import { COSTS } from './costs.ts'

/** What a fleet has to do. */
export interface Demand {
  /** Decisions a second, at the peak. */
  readonly perSecond: number
  /** Callers with a counter at the same time, for each limit: callers that came within the last two windows. */
  readonly keys: number
  /** How many limits a decision is counted by. */
  readonly limits: number
  /** The share of decisions that leases answer without Redis, from 0 to 1. */
  readonly leased: number
  readonly keyForm: keyof typeof COSTS.bytesOfCounter
}

/** What it takes. */
export interface Size {
  readonly workers: number
  readonly workerPerSecond: number
  readonly nodes: number
  readonly workersPerNode: number
  readonly memoryMibPerNode: number
  readonly shards: number
  /** How busy the only core of a shard is, from 0 to 1. */
  readonly shardBusy: number
  readonly redisUs: number
  readonly decisionsPerCall: number
  readonly counterBytes: number
  readonly memoryBytes: number
  readonly shardMemoryBytes: number
}

/** No limiter should be planned to run full: half is for peaks, for a node that is gone, and for slower machines. */
const PLANNED_SHARE = 0.5
/** One node is gone during each deployment. */
const FEWEST_NODES = 2
const WORKERS_PER_NODE = 4
/** Redis forks to write to disk, and its allocator leaves gaps. */
const MEMORY_ROOM = 1.5
const SHARD_BASE_BYTES = 64 * 2 ** 20
/** Callers are spread over this many partitions of a cluster: another shard would have nothing to do. */
export const MOST_SHARDS = 32

/** Returns what a demand needs: arithmetic on measured costs, see docs/sizing.md. */
export function sizeOf(demand: Demand): Size {
  const { perSecond, keys, limits, leased, keyForm } = demand
  const workerPerSecond = (COSTS.workerPerSecond * PLANNED_SHARE) / (1 + COSTS.workerFurtherLimit * (limits - 1))
  const needed = Math.max(FEWEST_NODES, Math.ceil(perSecond / workerPerSecond))
  const nodes = Math.max(FEWEST_NODES, Math.ceil(needed / WORKERS_PER_NODE))
  const workersPerNode = Math.ceil(needed / nodes)
  const workers = nodes * workersPerNode
  const redis = shardsFor(perSecond * (1 - leased), workers, limits)
  const counterBytes = COSTS.bytesOfCounter[keyForm]
  const memoryBytes = keys * limits * counterBytes
  return {
    workers,
    workerPerSecond,
    nodes,
    workersPerNode,
    memoryMibPerNode: COSTS.processMib * (workersPerNode + 1),
    ...redis,
    counterBytes,
    memoryBytes,
    shardMemoryBytes: Math.ceil((memoryBytes / redis.shards) * MEMORY_ROOM) + SHARD_BASE_BYTES,
  }
}

/** The smallest number of shards of which none is busier than planned. With more of them, a call carries less. */
function shardsFor(perSecond: number, workers: number, limits: number) {
  for (let shards = 1; ; shards++) {
    const perConnection = perSecond / workers / shards
    const decisionsPerCall = Math.max(1, (perConnection * COSTS.callMs) / 1_000 / COSTS.callsAtOnce)
    const ofOne = COSTS.redisDecisionUs * (1 + COSTS.redisFurtherLimit * (limits - 1))
    const redisUs = COSTS.redisCallUs / decisionsPerCall + ofOne
    const shardBusy = (perSecond / shards) * redisUs * 1e-6
    if (shardBusy <= PLANNED_SHARE || shards === MOST_SHARDS) return { shards, shardBusy, redisUs, decisionsPerCall }
  }
}
