import { allowedVerdict, compact, type Verdict } from '../../../core/decision.ts'
import { type Charge, mayBeLent } from '../../../engine/ports.ts'
import { type EncodedBatch, isSpanOf } from './batch-format.ts'
import { headKey } from './exchange-format.ts'
import type { LimitTexts } from './limit-texts.ts'

/**
 * The groups of one request are small. In larger ones, to look for a counter that is named twice would cost more than
 * it saves.
 */
const MAX_CHARGES = 16
/** Marks of rules that do not enforce. */
const SHADOW = '~'
const QUOTA = '&'

/** Encodes the only group of a call in the plain form of decide.lua; undefined for one that needs the other form. */
export function encodePlain(
  charges: readonly Charge[],
  limitTexts: LimitTexts,
  nowMs: number | undefined,
): EncodedBatch | undefined {
  if (charges.length === 1) return encodeAlone(charges[0], limitTexts, nowMs)
  if (charges.length === 0 || charges.length > MAX_CHARGES || !charges.every(isPlain)) return undefined
  const { cost } = charges[0]
  const keys = charges.map((charge) => limitTexts.keyOf(charge.key, charge.limit))
  if (new Set(keys).size < keys.length) return undefined
  const limits = charges.map((charge) => markOf(charge) + limitTexts.of(charge.limit)).join('\n')
  const costs = charges.every((charge) => charge.cost === cost) ? cost : charges.map((charge) => charge.cost).join(' ')
  return { keys, args: argsOf(limits, costs, nowMs) }
}

/** Like encodePlain for a lone charge: most calls of a quiet service. */
function encodeAlone(charge: Charge, limitTexts: LimitTexts, nowMs: number | undefined): EncodedBatch | undefined {
  const { key, limit, cost, debit } = charge
  if (limit.isLog || debit === true) return undefined
  const isLendable = mayBeLent(charge)
  const alone = isLendable ? limitTexts.lendableOf(limit) : limitTexts.aloneOf(limit)
  const args = cost === 1 && nowMs === undefined ? alone : argsOf(alone[0], cost, nowMs)
  const encoded = limitTexts.keyOf(key, limit)
  return { keys: isLendable ? [encoded, headKey(encoded)] : [encoded], args }
}

function isPlain(charge: Charge): boolean {
  return !charge.limit.isLog && charge.debit !== true && !mayBeLent(charge)
}

/** Marks which charges refuse their group. A lone one needs no mark. */
function markOf({ enforce, quota }: Charge): string {
  if (!enforce) return SHADOW
  return quota === true ? QUOTA : ''
}

/** Leaves out what goes without saying: a cost of 1, and the server's own time. */
function argsOf(limits: string, costs: number | string, nowMs: number | undefined): string[] {
  if (nowMs !== undefined) return [limits, String(costs), String(nowMs)]
  return costs === 1 ? [limits] : [limits, String(costs)]
}

/** Reads the number that says that a lone charge is allowed; undefined for one that makes no sense. */
export function decodeWhole(whole: number, { limit }: Charge): Verdict | undefined {
  if (!Number.isSafeInteger(whole) || whole < 0) return undefined
  const scale = limit.capacity + 1
  const remaining = whole % scale
  const resetAfterMs = (whole - remaining) / scale
  return isSpanOf(limit, resetAfterMs)
    ? allowedVerdict(limit.max, compact(remaining), compact(resetAfterMs))
    : undefined
}
