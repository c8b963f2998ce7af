import type { Notice, NoticeListener } from '../../engine/ports.ts'
import { NoticeBoard } from '../lending/notice-board.ts'
import type { RedisAddress } from './address.ts'
import { type Locate, SingleConnection } from './single-connection.ts'

/** The channel on which nodes tell each other what has changed. */
export const CHANNEL = 'sluice:notices'

const KINDS: Readonly<Record<Notice['kind'], string>> = { clear: 'c', recall: 'r', shared: 's' }

/** encodeNotice spells a notice as a message: a letter, and the key. */
export function encodeNotice({ kind, key }: Notice): string {
  return KINDS[kind] + key
}

/** decodeNotice reads a message. What it does not know is from a later version, and undefined. */
export function decodeNotice(message: string): Notice | undefined {
  const kind = KIND_OF.get(message[0])
  return kind && { kind, key: message.slice(1) }
}

const KIND_OF: ReadonlyMap<string | undefined, Notice['kind']> = new Map(
  Object.entries(KINDS).map(([kind, letter]) => [letter, kind as Notice['kind']]),
)

const NOT_ALLOWED = `the Redis user may not subscribe to ${CHANNEL}: refusals are asked about again every second (docs/redis.md)`

/** NoticeChannel listens on a connection of its own, which it makes when the first listener comes. */
export class NoticeChannel {
  readonly #address: RedisAddress
  readonly #locate: Locate
  readonly #warn: (warning: string) => void
  readonly #board = new NoticeBoard(false)
  #connection: SingleConnection | undefined
  #isWarned = false

  constructor(address: RedisAddress, locate: Locate, warn: (warning: string) => void) {
    this.#address = address
    this.#locate = locate
    this.#warn = warn
  }

  listen(listener: NoticeListener): () => void {
    this.#connection ??= this.#connect()
    return this.#board.listen(listener)
  }

  async close(): Promise<void> {
    await this.#connection?.close()
  }

  #connect(): SingleConnection {
    const events = {
      connected: () => this.#board.setConnected(true),
      disconnected: (_shard: string, reason: string) => {
        this.#board.setConnected(false)
        if (reason.startsWith('NOPERM') && !this.#isWarned) this.#warn(NOT_ALLOWED)
        this.#isWarned ||= reason.startsWith('NOPERM')
      },
      warned() {},
    }
    const heard = (message: string): void => {
      const notice = decodeNotice(message)
      if (notice !== undefined) this.#board.notify(notice)
    }
    return new SingleConnection(this.#address, this.#locate, events, { subscription: { channel: CHANNEL, heard } })
  }
}
