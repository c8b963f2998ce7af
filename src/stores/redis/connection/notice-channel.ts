import type { Notice, NoticeListener } from '../../../engine/ports.ts'
import { NoticeBoard } from '../../lending/notice-board.ts'
import type { RedisAddress } from './address.ts'
import { type Locate, SingleConnection } from './single-connection.ts'

/**
 * Returns the channel on which the nodes of one prefix notify each other of changes. Its number is the version of the
 * messages: nodes of another version listen elsewhere.
 */
export function noticeChannel(keyPrefix: string): string {
  return `${keyPrefix}sluice:notices:1`
}

const KINDS: Readonly<Record<Notice['kind'], string>> = {
  clear: 'c',
  recall: 'r',
  shared: 's',
  reset: 'x',
  reset_domain: 'd',
  reset_caller: 'k',
  ask: 'a',
}

/** A longer message than any key that a request can produce is not ours. */
const MAX_MESSAGE = 65_536

/** Encodes a notice as a message: a letter, and the key. */
export function encodeNotice({ kind, key }: Notice): string {
  return KINDS[kind] + key
}

/** Decodes a message. Returns undefined for one that is malformed, foreign or from a later version. */
export function decodeNotice(message: string): Notice | undefined {
  if (message.length < 2 || message.length > MAX_MESSAGE) return undefined
  const kind = KIND_OF.get(message[0])
  return kind && { kind, key: message.slice(1) }
}

const KIND_OF: ReadonlyMap<string | undefined, Notice['kind']> = new Map(
  Object.entries(KINDS).map(([kind, letter]) => [letter, kind as Notice['kind']]),
)

/** Listens on a separate connection, opened with the first listener. */
export class NoticeChannel {
  readonly #address: RedisAddress
  readonly #locate: Locate
  readonly #channel: string
  readonly #warn: (warning: string) => void
  readonly #board = new NoticeBoard(false)
  #connection: SingleConnection | undefined
  #isWarned = false
  #ignored = 0

  constructor(address: RedisAddress, locate: Locate, channel: string, warn: (warning: string) => void) {
    this.#address = address
    this.#locate = locate
    this.#channel = channel
    this.#warn = warn
  }

  /** How many messages were ignored as malformed. Every user that may publish there can send anything. */
  get ignored(): number {
    return this.#ignored
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
        if (reason.startsWith('NOPERM') && !this.#isWarned) this.#warn(notAllowed(this.#channel))
        this.#isWarned ||= reason.startsWith('NOPERM')
      },
      warned() {},
    }
    const subscription = { channel: this.#channel, heard: (message: string) => this.#heard(message) }
    return new SingleConnection(this.#address, this.#locate, events, { subscription })
  }

  #heard(message: string): void {
    const notice = decodeNotice(message)
    if (notice === undefined) this.#ignored++
    else this.#board.notify(notice)
  }
}

function notAllowed(channel: string): string {
  return `the Redis user may not subscribe to ${channel}: refusals are asked about again every second (docs/redis.md)`
}
