import { storedKey } from '../../core/keys.ts'
import { type Limit, MAX_COUNT } from '../../core/limit.ts'
import type { SliceReply, SliceRequest } from '../../engine/ports.ts'
import { type BatchFormat, type EncodedBatch, isSpanOf, numberOf } from './batch-format.ts'
import type { LimitTexts } from './limit-texts.ts'
import { loadScript } from './scripts.ts'

const REQUEST_BYTES = 68
const REPLY_BYTES = 49

/** bookKey spells the key of the book of a counter, beside the counter itself. */
export function bookKey(stored: string): string {
  return `${stored}|lent`
}

/** headKey spells the key of the head of that book: what is out in all. */
export function headKey(stored: string): string {
  return `${stored}|out`
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
    keys: [...counters, ...counters.map(headKey), ...counters.map(bookKey)],
    args: [
      nowMs === undefined ? '' : String(nowMs),
      String(limits.length),
      ...limits,
      packed,
      ...requests.map(({ holder }) => holder),
    ],
  }
}

/**
 * decodeReplies reads the reply of exchange.lua, with undefined for a part that makes no sense; or returns undefined where it has
 * another size than it should.
 */
export function decodeReplies(
  reply: unknown,
  requests: readonly SliceRequest[],
): (SliceReply | undefined)[] | undefined {
  if (!Buffer.isBuffer(reply) || reply.length !== requests.length * REPLY_BYTES) return undefined
  return requests.map(({ leaseMs, limit }, i) => {
    const at = i * REPLY_BYTES
    const number = (position: number): number => reply.readDoubleLE(at + 1 + 8 * position)
    const answer = {
      isStale: reply.readUInt8(at) === 1,
      leaseMs,
      held: number(0),
      free: number(1),
      holders: number(2),
      resetAfterMs: number(3),
      retryAfterMs: number(4),
      lentRetryAfterMs: number(5),
    }
    return reply.readUInt8(at) <= 1 && makesSense(answer, limit) ? answer : undefined
  })
}

function makesSense(answer: SliceReply, limit: Limit): boolean {
  const { held, free, holders, resetAfterMs, retryAfterMs, lentRetryAfterMs } = answer
  // A limit that was lowered is less than what is held; nobody holds more than the largest there is.
  const areCounts = isCount(held, MAX_COUNT) && isCount(free, limit.capacity) && isCount(holders, MAX_COUNT)
  return areCounts && [resetAfterMs, retryAfterMs, lentRetryAfterMs].every((ms) => isSpanOf(limit, ms))
}

function isCount(value: number, most: number): boolean {
  return value >= 0 && value <= most
}

/** exchangeFormat is how exchanges travel to exchange.lua. */
export const exchangeFormat: BatchFormat<SliceRequest, SliceReply> = {
  script: loadScript('exchange'),
  keyOf: ({ key }) => key,
  sizeOf: () => 1,
  encode: encodeExchanges,
  decode: decodeReplies,
}
