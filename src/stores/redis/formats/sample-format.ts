import type { RateReply, RateReport } from '../../../engine/ports.ts'
import { loadScript } from '../scripts/scripts.ts'
import { type BatchFormat, type EncodedBatch, numberOf } from './batch-format.ts'
import { rateKey } from './exchange-format.ts'
import type { LimitTexts } from './limit-texts.ts'

const REPORT_BYTES = 50
const REPLY_BYTES = 16

/** Encodes a batch of reports as the keys and arguments of sample.lua. The time is for tests. */
export function encodeReports(reports: readonly RateReport[], limitTexts: LimitTexts, nowMs?: number): EncodedBatch {
  const keys: string[] = []
  const numbers = new Map<string, number>()
  const packed = Buffer.allocUnsafe(reports.length * REPORT_BYTES)
  let at = 0
  for (const report of reports) {
    const key = rateKey(limitTexts.keyOf(report.key, report.limit))
    at = packed.writeUInt16LE(
      numberOf(numbers, key, () => keys.push(key)),
      at,
    )
    const { offeredPerMs, admitted, recent, refillPerMs, burst, lifeMs } = report
    for (const value of [offeredPerMs, admitted, recent, refillPerMs, burst, lifeMs])
      at = packed.writeDoubleLE(value, at)
  }
  return { keys, args: [nowMs === undefined ? '' : String(nowMs), packed, ...reports.map(({ node }) => node)] }
}

/** Reads the reply of sample.lua, as decodeReplies does that of exchange.lua. */
export function decodeRates(reply: unknown, reports: readonly RateReport[]): (RateReply | undefined)[] | undefined {
  if (!Buffer.isBuffer(reply) || reply.length !== reports.length * REPLY_BYTES) return undefined
  return reports.map(({ burst }, i) => {
    const offeredPerMs = reply.readDoubleLE(i * REPLY_BYTES)
    const level = reply.readDoubleLE(i * REPLY_BYTES + 8)
    return offeredPerMs >= 0 && Math.abs(level) <= burst ? { offeredPerMs, level } : undefined
  })
}

/** How reports of rates travel to sample.lua. */
export const sampleFormat: BatchFormat<RateReport, RateReply> = {
  script: loadScript('sample'),
  keyOf: ({ key }) => key,
  sizeOf: () => 1,
  encode: encodeReports,
  decode: decodeRates,
}
