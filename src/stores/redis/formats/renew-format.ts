import type { Limit } from '../../../core/limit.ts'
import type { Renewal } from '../../../engine/ports.ts'
import type { CounterRenewals, RenewalResults, WantedRenewal } from '../../renewing/counter-renewals.ts'
import { type EncodedBatch, numberOf } from './batch-format.ts'
import type { LimitTexts } from './limit-texts.ts'

const ID_BYTES = 8
const RENEWAL_BYTES = 6 + ID_BYTES
/** What the bytes of a reply mean. */
const CODES: readonly Renewal[] = ['held', 'retaken', 'overrun', 'lost']

/** A part of what is to be renewed of a counter. */
export interface RenewedCounter extends Pick<CounterRenewals, 'key' | 'limit'> {
  readonly wanted: readonly WantedRenewal[]
}

/** Splits renewals into calls of up to `mostPermits` permits, so that none holds the server up for long. */
export function renewalCalls(counters: Iterable<CounterRenewals>, mostPermits: number): RenewedCounter[][] {
  const calls: RenewedCounter[][] = []
  let room = 0
  for (const { key, limit, wanted } of counters) {
    const all = [...wanted.values()]
    for (let from = 0; from < all.length; ) {
      if (room === 0) {
        calls.push([])
        room = mostPermits
      }
      const part = all.slice(from, from + room)
      calls[calls.length - 1].push({ key, limit, wanted: part })
      room -= part.length
      from += part.length
    }
  }
  return calls
}

/** Encodes renewals as the keys and arguments of renew.lua. The time is for tests. */
export function encodeRenewals(counters: readonly RenewedCounter[], texts: LimitTexts, nowMs?: number): EncodedBatch {
  const limits: string[] = []
  const limitNumbers = new Map<Limit, number>()
  const packed = Buffer.allocUnsafe(counters.reduce((sum, { wanted }) => sum + wanted.length, 0) * RENEWAL_BYTES)
  let at = 0
  counters.forEach(({ limit, wanted }, counter) => {
    const number = numberOf(limitNumbers, limit, () => limits.push(texts.of(limit)))
    for (const { id, places } of wanted) {
      at = packed.writeUInt16LE(counter + 1, at)
      at = packed.writeUInt16LE(number, at)
      at = packed.writeUInt16LE(places, at)
      packed.write(String(id), at, ID_BYTES, 'hex')
      at += ID_BYTES
    }
  })
  return {
    keys: counters.map(({ key, limit }) => texts.keyOf(key, limit)),
    args: [nowMs === undefined ? '' : String(nowMs), String(limits.length), ...limits, packed],
  }
}

/** Reads the reply of renew.lua. What makes no sense is missed. */
export function readRenewals(reply: unknown, counters: readonly RenewedCounter[], results: RenewalResults): void {
  let at = 0
  for (const { wanted } of counters) {
    for (const each of wanted) {
      const code = Buffer.isBuffer(reply) ? reply[at++] : undefined
      results.set(each, (code === undefined ? undefined : CODES[code]) ?? 'missed')
    }
  }
}
