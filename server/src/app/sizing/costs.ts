/**
 * The measured cost of a decision, on a core of the machine that docs/sizing.md names. `npm run bench -- size` measures
 * the part of Redis again and prints it next to these.
 */
export const COSTS = {
  /** Calls a second over gRPC that one worker answered, with its counters in Redis (`npm run bench -- latency`). */
  workerPerSecond: 46_000,
  /**
   * What a further limit adds to a decision in a worker, as a share of the first (`npm run bench -- rls`, from memory).
   */
  workerFurtherLimit: 0.6,
  /** The memory of each process of a node: each worker, and the primary. */
  processMib: 340,
  /** Processor time of Redis for a call, whatever it carries, in µs. */
  redisCallUs: 19,
  /** Processor time of Redis for each decision in a call, in µs. */
  redisDecisionUs: 5,
  /**
   * What a further limit adds to a decision in Redis, as a share of the first (`npm run bench -- floor`: 3.7 to 4.2
   * µs).
   */
  redisFurtherLimit: 0.9,
  /**
   * How long a call takes under load; arrivals within that time travel together. Two calls are in flight at the same
   * time.
   */
  callMs: 0.5,
  callsAtOnce: 2,
  /** Bytes of `used_memory` for a counter: keys in full or hashed, and compact (`npm run bench -- redis --bytes`). */
  bytesOfCounter: { readable: 213, compact: 117 },
} as const
