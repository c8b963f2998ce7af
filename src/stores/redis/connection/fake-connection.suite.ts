import { StoreFault } from '../../../engine/store-fault.ts'
import type { Args, Asker, RedisConnection, Reply } from './connection.ts'

/** A call that waits for the test to answer it. */
export interface Sent {
  readonly key: string
  readonly args: Args
  readonly isPrompt: boolean
  resolve(reply: unknown): void
  reject(error: unknown): void
}

/** Keeps what it is told to send, and answers when the test does. */
export class FakeConnection implements RedisConnection {
  readonly spansPartitions: boolean = true
  readonly sent: Sent[] = []
  readonly resets: string[] = []
  readonly #shardOf: (key: string) => string
  #isOffline = false

  constructor(shardOf: (key: string) => string = () => 'redis') {
    this.#shardOf = shardOf
  }

  shardOf(key: string): string {
    return this.#shardOf(key)
  }

  shards(): readonly string[] {
    return ['redis']
  }

  askShard(shard: string, args: Args, asker: Asker): void {
    this.ask(shard, args, asker)
  }

  /** Has everything fail at once that it is told to send. */
  goOffline(): void {
    this.#isOffline = true
  }

  ask(key: string, args: Args, asker: Asker): void {
    if (this.#isOffline) {
      asker.failed(new StoreFault('offline', this.#shardOf(key), 'not connected'))
      return
    }
    const resolve = (reply: unknown): void => asker.answered(reply as Reply)
    const reject = (error: unknown): void => asker.failed(error as Error)
    this.sent.push({ key, args: [...args], isPrompt: asker.isPrompt === true, resolve, reject })
  }

  reset(shard: string): void {
    this.resets.push(shard)
  }

  async close(): Promise<void> {}
}

/** Reads how many charges each group of a call has. */
export function groupSizes(args: Args): number[] {
  const packed = args.at(-1)
  // The plain form has one group, and a key for each charge.
  if (!Buffer.isBuffer(packed)) return [Number(args[2])]
  const sizes: number[] = []
  for (let at = 0; at < packed.length; at += 2 + 21 * (sizes.at(-1) as number)) sizes.push(packed.readUInt16LE(at))
  return sizes
}

/** Admits every charge of a call, and numbers them in `remaining`. */
export function replyTo(args: Args): Buffer {
  const charges = groupSizes(args).reduce((sum, size) => sum + size, 0)
  const reply = Buffer.alloc(21 * charges)
  for (let i = 0; i < charges; i++) reply.writeUInt32LE(i, 21 * i + 1)
  return reply
}
