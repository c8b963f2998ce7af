import { type Limit, MAX_COUNT } from '../../../core/limit.ts'
import type { SliceReply, SliceRequest } from '../../../engine/ports.ts'
import { loadScript } from '../scripts/scripts.ts'
import { type BatchFormat, type EncodedBatch, isSpanOf, numberOf } from './batch-format.ts'
import type { LimitTexts } from './limit-texts.ts'

const REQUEST_BYTES = 68
const REPLY_BYTES = 49
const BOOK = '|lent'
const HEAD = '|out'
const RATE = '|rate'

/** Returns the key of the book of a counter, which is stored next to the counter. */
export function bookKey(stored: string): string {
  return stored + BOOK
}

/** Undoes bookKey, headKey and rateKey. The key of a counter stays as it is. */
export function counterOf(key: string): string {
  const end = [BOOK, HEAD, RATE].find((each) => key.endsWith(each))
  return end === undefined ? key : key.slice(0, -end.length)
}

/** Returns the key of what nodes report of a sampled counter, which is stored next to it. */
export function rateKey(stored: string): string {
  return stored + RATE
}

/** Returns the key of the head of that book, which holds the total that is lent. */
export function headKey(stored: string): string {
  return stored + HEAD
}

/** Encodes a batch of exchanges as the keys and arguments of exchange.lua. The time is for tests. */
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
    const encoded = limitTexts.keyOf(request.key, request.limit)
    at = packed.writeUInt16LE(
      numberOf(counterNumbers, encoded, () => counters.push(encoded)),
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
 * Reads the reply of exchange.lua, with undefined for a part that makes no sense; or returns undefined where it has
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
  // After a limit was lowered, more than the limit may be held, but never more than the largest limit.
  const areCounts = isCount(held, MAX_COUNT) && isCount(free, limit.capacity) && isCount(holders, MAX_COUNT)
  return areCounts && [resetAfterMs, retryAfterMs, lentRetryAfterMs].every((ms) => isSpanOf(limit, ms))
}

function isCount(value: number, most: number): boolean {
  return value >= 0 && value <= most
}

/** How much of a counter is out, and how many nodes have it. */
export interface Lent {
  readonly hits: number
  readonly nodes: number
}

const HOLDER_BYTES = 32
const HELD_AT = 16
const ENDS_AT = 24

/** Reads a book: its fields, each before its value, as exchange.lua describes them. What has ended is not out. */
export function lentIn(fields: readonly Buffer[], nowMs: number): Lent {
  let hits = 0
  let nodes = 0
  for (let i = 1; i < fields.length; i += 2) {
    const value = fields[i]
    if (value.length !== HOLDER_BYTES || value.readDoubleLE(ENDS_AT) <= nowMs) continue
    const held = value.readDoubleLE(HELD_AT)
    hits += held
    if (held > 0) nodes++
  }
  return { hits, nodes }
}

/** How exchanges travel to exchange.lua. */
export const exchangeFormat: BatchFormat<SliceRequest, SliceReply> = {
  script: loadScript('exchange'),
  keyOf: ({ key }) => key,
  sizeOf: () => 1,
  encode: encodeExchanges,
  decode: decodeReplies,
}
