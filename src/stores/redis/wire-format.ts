import { allowedVerdict, impossibleVerdict, lentVerdict, refusedVerdict, type Verdict } from '../../core/decision.ts'
import { storedKey } from '../../core/keys.ts'
import { holdsPermits, type Limit } from '../../core/limit.ts'
import { type Charge, mayBeLent } from '../../engine/ports.ts'
import { type BatchFormat, type EncodedBatch, isSpanOf, numberOf } from './batch-format.ts'
import { headKey } from './exchange-format.ts'
import type { LimitTexts } from './limit-texts.ts'
import { loadScript } from './scripts.ts'

const CHARGE_BYTES = 21
const VERDICT_BYTES = 21
const PERMIT_BYTES = 8
const NO_PERMIT = Buffer.alloc(PERMIT_BYTES)

const ENFORCE = 1
const QUOTA = 2
const KEEP = 4
const PERMIT = 8
const LENT = 16
const NEXT = 32

/** A Group is the charges of one request that are decided together, and the id of the permits that an acquire takes. */
export interface Group {
  readonly charges: readonly Charge[]
  /** 8 bytes; undefined for a check, which only looks at concurrency limits. */
  readonly permits: Buffer | undefined
}

/** encodeGroups spells a batch of groups as the keys and arguments of decide.lua. The time is for tests. */
export function encodeGroups(groups: readonly Group[], limitTexts: LimitTexts, nowMs?: number): EncodedBatch {
  const keys: string[] = []
  const keyNumbers = new Map<string, number>()
  const limits: string[] = []
  const limitNumbers = new Map<Limit, number>()
  const packed = Buffer.allocUnsafe(groups.reduce((sum, { charges }) => sum + 2 + charges.length * CHARGE_BYTES, 0))
  const headNumber = (spelled: string): number => {
    const head = headKey(spelled)
    return numberOf(keyNumbers, head, () => keys.push(head))
  }
  let at = 0
  for (const { charges, permits } of groups) {
    at = packed.writeUInt16LE(charges.length, at)
    for (const charge of charges) {
      const spelled = storedKey(charge.key, charge.limit)
      const key = numberOf(keyNumbers, spelled, () => keys.push(spelled))
      const limit = numberOf(limitNumbers, charge.limit, () => limits.push(limitTexts.of(charge.limit)))
      at = packed.writeUInt16LE(key, at)
      at = packed.writeUInt16LE(limit, at)
      at = packed.writeDoubleLE(charge.cost, at)
      const flags = flagsOf(charge, permits)
      const head = flags < LENT ? 0 : headNumber(spelled)
      at = packed.writeUInt8(head === key + 1 ? flags | NEXT : flags, at)
      at += (permits ?? NO_PERMIT).copy(packed, at)
      if (flags >= LENT) packed.writeUInt16LE(head, at - PERMIT_BYTES)
    }
  }
  return { keys, args: [nowMs === undefined ? '' : String(nowMs), String(limits.length), ...limits, packed] }
}

/** flagsOf says what a charge does. A cost of 0 looks, and only an acquire takes permits. */
function flagsOf(charge: Charge, permits: Buffer | undefined): number {
  const { enforce, quota, limit, cost } = charge
  const isConcurrency = holdsPermits(limit)
  const isKept = isConcurrency ? permits !== undefined && cost > 0 : cost !== 0
  return (
    (enforce ? ENFORCE : 0) |
    (quota ? QUOTA : 0) |
    (isKept ? KEEP : 0) |
    (isConcurrency && permits !== undefined ? PERMIT : 0) |
    (mayBeLent(charge) ? LENT : 0)
  )
}

/**
 * decodeVerdicts reads the reply of decide.lua: the verdicts of each group, in order, and undefined for a group with a verdict
 * that makes no sense. It returns undefined where the reply has another size than it should.
 */
export function decodeVerdicts(reply: unknown, groups: readonly Group[]): (Verdict[] | undefined)[] | undefined {
  const count = groups.reduce((sum, group) => sum + group.charges.length, 0)
  if (!Buffer.isBuffer(reply) || reply.length !== count * VERDICT_BYTES) return undefined
  let at = 0
  return groups.map(({ charges }) => {
    const verdicts: Verdict[] = []
    for (const charge of charges) {
      const verdict = decodeVerdict(reply, at, charge)
      at += VERDICT_BYTES
      if (verdict !== undefined) verdicts.push(verdict)
    }
    return verdicts.length === charges.length ? verdicts : undefined
  })
}

function decodeVerdict(reply: Buffer, at: number, charge: Charge): Verdict | undefined {
  const { limit } = charge
  const code = reply.readUInt8(at)
  const remaining = reply.readUInt32LE(at + 1)
  const resetAfterMs = reply.readDoubleLE(at + 5)
  const waitMs = reply.readDoubleLE(at + 13)
  if (code > 3 || remaining > limit.capacity || !isSpanOf(limit, resetAfterMs) || !isSpanOf(limit, waitMs))
    return undefined
  if (code === 0) return allowedVerdict(limit.max, remaining, resetAfterMs, waitMs)
  if (code === 1) return refusedVerdict(limit.max, remaining, resetAfterMs, waitMs)
  if (code === 3) return mayBeLent(charge) ? lentVerdict(limit.max, resetAfterMs, waitMs) : undefined
  return impossibleVerdict(limit.max, remaining, resetAfterMs, limit.capacity)
}

/** decideFormat is how groups travel to decide.lua. */
export const decideFormat: BatchFormat<Group, readonly Verdict[]> = {
  script: loadScript('decide'),
  keyOf: ({ charges }) => charges[0].key,
  sizeOf: ({ charges }) => charges.reduce((names, charge) => names + (mayBeLent(charge) ? 2 : 1), 0),
  encode: encodeGroups,
  decode: decodeVerdicts,
}
