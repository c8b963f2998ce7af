import { storedKey } from '../../core/keys.ts'
import type { Limit } from '../../core/limit.ts'
import type { SliceReply, SliceRequest } from '../../engine/ports.ts'
import { type BatchFormat, type EncodedBatch, numberOf } from './batch-format.ts'
import type { LimitTexts } from './limit-texts.ts'
import { loadScript } from './scripts.ts'

const REQUEST_BYTES = 68
const REPLY_BYTES = 49

/** bookKey spells the key of the book of a counter, beside the counter itself. */
export function bookKey(stored: string): string {
  return `${stored}|lent`
}

/** encodeExchanges spells a batch of exchanges as the keys and arguments of exchange.lua. The time is for tests. */
export function encodeExchanges(
  requests: readonly SliceRequest[],
  limitTexts: LimitTexts,
  nowMs?: number,
): EncodedBatch {
  const counters: string[] = []
  const counterNumbers = new Map<string, number>()
  const limits: string[] = []
  const limitNumbers = new Map<Limit, number>()
  const packed = Buffer.allocUnsafe(requests.length * REQUEST_BYTES)
  let at = 0
  for (const request of requests) {
    const spelled = storedKey(request.key, request.limit)
    at = packed.writeUInt16LE(
      numberOf(counterNumbers, spelled, () => counters.push(spelled)),
      at,
    )
    at = packed.writeUInt16LE(
      numberOf(limitNumbers, request.limit, () => limits.push(limitTexts.of(request.limit))),
      at,
    )
    const { sequence, spent, confirmed, keep, need, ahead, cost, leaseMs } = request
    for (const value of [sequence, spent, confirmed, keep, need, ahead, cost, leaseMs])
      at = packed.writeDoubleLE(value, at)
  }
  return {
    keys: [...counters, ...counters.map(bookKey)],
    args: [
      nowMs === undefined ? '' : String(nowMs),
      String(limits.length),
      ...limits,
      packed,
      ...requests.map(({ holder }) => holder),
    ],
  }
}

/** decodeReplies reads the reply of exchange.lua, or returns undefined where it has another size than it should. */
export function decodeReplies(reply: unknown, requests: readonly SliceRequest[]): SliceReply[] | undefined {
  if (!Buffer.isBuffer(reply) || reply.length !== requests.length * REPLY_BYTES) return undefined
  return requests.map(({ leaseMs }, i) => {
    const at = i * REPLY_BYTES
    const number = (position: number): number => reply.readDoubleLE(at + 1 + 8 * position)
    return {
      isStale: reply.readUInt8(at) === 1,
      leaseMs,
      held: number(0),
      free: number(1),
      holders: number(2),
      resetAfterMs: number(3),
      retryAfterMs: number(4),
      lentRetryAfterMs: number(5),
    }
  })
}

/** exchangeFormat is how exchanges travel to exchange.lua. */
export const exchangeFormat: BatchFormat<SliceRequest, SliceReply> = {
  script: loadScript('exchange'),
  keyOf: ({ key }) => key,
  sizeOf: () => 1,
  encode: encodeExchanges,
  decode: decodeReplies,
}
