import {
  allowedVerdict,
  debitVerdict,
  impossibleVerdict,
  lentVerdict,
  refusedVerdict,
  type Verdict,
} from '../../../core/decision.ts'
import { holdsPermits, type Limit } from '../../../core/limit.ts'
import { type Charge, mayBeLent } from '../../../engine/ports.ts'
import { loadScript } from '../scripts/scripts.ts'
import { type BatchFormat, type EncodedBatch, isSpanOf, numberOf } from './batch-format.ts'
import { headKey } from './exchange-format.ts'
import type { LimitTexts } from './limit-texts.ts'
import { decodeWhole, encodePlain } from './plain-format.ts'

const CHARGE_BYTES = 21
const VERDICT_BYTES = 21
const SECTION_BYTES = 4
const PERMIT_BYTES = 8
const NO_PERMIT = Buffer.alloc(PERMIT_BYTES)

const ENFORCE = 1
const QUOTA = 2
const KEEP = 4
const PERMIT = 8
const DEBIT = 16
const LENT = 32
const NEXT = 64

/** The charges of one request that are decided together, and the id of the permits that an acquire takes. */
export interface Group {
  readonly charges: readonly Charge[]
  /** 8 bytes; undefined for a check, which only looks at concurrency limits. */
  readonly permits: Buffer | undefined
}

/** Encodes a batch of groups as the keys and arguments of decide.lua. The time is for tests. */
export function encodeGroups(groups: readonly Group[], limitTexts: LimitTexts, nowMs?: number): EncodedBatch {
  const time = nowMs === undefined ? '' : String(nowMs)
  // Most calls of a quiet service: a third of the garbage.
  if (groups.length === 1 && groups[0].charges.length === 1) {
    const charge = groups[0].charges[0]
    const packed = Buffer.allocUnsafe(2 + CHARGE_BYTES)
    const isLent = mayBeLent(charge)
    writeCharge(packed, packed.writeUInt16LE(1, 0), 1, 1, isLent ? 2 : 0, charge, groups[0].permits)
    const encoded = limitTexts.keyOf(charge.key, charge.limit)
    const keys = isLent ? [encoded, headKey(encoded)] : [encoded]
    return { keys, args: [time, '1', limitTexts.of(charge.limit), packed] }
  }
  const packer = new Packer(limitTexts, packedBytes(groups))
  for (const group of groups) packer.add(group)
  const { keys, limits, packed } = packer
  return { keys, args: [time, String(limits.length), ...limits, packed] }
}

/** Encodes groups of several partitions, each a section, as the arguments of decide-node.lua. */
export function encodeSections(
  sections: readonly (readonly Group[])[],
  limitTexts: LimitTexts,
  nowMs?: number,
): EncodedBatch {
  const packer = new Packer(
    limitTexts,
    sections.reduce((sum, groups) => sum + packedBytes(groups), 0),
  )
  const { keys, limits, packed } = packer
  const sizes = Buffer.allocUnsafe(sections.length * SECTION_BYTES)
  let at = 0
  for (const groups of sections) {
    const before = keys.length
    for (const group of groups) packer.add(group)
    at = sizes.writeUInt16LE(keys.length - before, at)
    at = sizes.writeUInt16LE(groups.length, at)
  }
  const time = nowMs === undefined ? '' : String(nowMs)
  return { keys: [], args: [...keys, time, String(limits.length), ...limits, packed, sizes] }
}

function packedBytes(groups: readonly Group[]): number {
  let bytes = 0
  for (const { charges } of groups) bytes += 2 + charges.length * CHARGE_BYTES
  return bytes
}

/** Encodes groups one after the other. Each key and limit occurs once. */
class Packer {
  readonly keys: string[] = []
  readonly limits: string[] = []
  readonly packed: Buffer
  readonly #keyNumbers = new Map<string, number>()
  /** The numbers of heads, by the numbers of their counters. No counter has the name of a head. */
  readonly #headNumbers: number[] = []
  readonly #limitNumbers = new Map<Limit, number>()
  readonly #limitTexts: LimitTexts
  #at = 0

  constructor(limitTexts: LimitTexts, bytes: number) {
    this.#limitTexts = limitTexts
    this.packed = Buffer.allocUnsafe(bytes)
  }

  add({ charges, permits }: Group): void {
    this.#at = this.packed.writeUInt16LE(charges.length, this.#at)
    for (const charge of charges) {
      const encoded = this.#limitTexts.keyOf(charge.key, charge.limit)
      const key = numberOf(this.#keyNumbers, encoded, () => this.keys.push(encoded))
      const limit = numberOf(this.#limitNumbers, charge.limit, () =>
        this.limits.push(this.#limitTexts.of(charge.limit)),
      )
      const head = mayBeLent(charge) ? this.#headNumber(key, encoded) : 0
      this.#at = writeCharge(this.packed, this.#at, key, limit, head, charge, permits)
    }
  }

  #headNumber(key: number, encoded: string): number {
    this.#headNumbers[key] ??= this.keys.push(headKey(encoded))
    return this.#headNumbers[key]
  }
}

/**
 * Writes a charge whose key and limit have numbers, and returns where the next one begins. `head` is the number of the
 * head of its book, 0 where nothing can be lent.
 */
function writeCharge(
  packed: Buffer,
  at: number,
  key: number,
  limit: number,
  head: number,
  charge: Charge,
  permits: Buffer | undefined,
): number {
  packed.writeUInt16LE(key, at)
  packed.writeUInt16LE(limit, at + 2)
  packed.writeDoubleLE(charge.cost, at + 4)
  const flags = flagsOf(charge, permits)
  packed.writeUInt8(head === 0 ? flags : flags | LENT | (head === key + 1 ? NEXT : 0), at + 12)
  packed.set(permits ?? NO_PERMIT, at + 13)
  if (head > 0) packed.writeUInt16LE(head, at + 13)
  return at + CHARGE_BYTES
}

/** Returns what a charge does. A cost of 0 looks, and only an acquire takes permits. */
function flagsOf(charge: Charge, permits: Buffer | undefined): number {
  const { enforce, quota, limit, cost, debit } = charge
  if (debit === true) return DEBIT | KEEP
  const isConcurrency = holdsPermits(limit)
  const isKept = isConcurrency ? permits !== undefined && cost > 0 : cost !== 0
  return (
    (enforce ? ENFORCE : 0) |
    (quota ? QUOTA : 0) |
    (isKept ? KEEP : 0) |
    (isConcurrency && permits !== undefined ? PERMIT : 0)
  )
}

/**
 * Reads the reply of decide.lua: the verdicts of each group, in order, and undefined for a group with a verdict that
 * makes no sense. It returns undefined where the reply has the wrong size.
 */
export function decodeVerdicts(reply: unknown, groups: readonly Group[]): (Verdict[] | undefined)[] | undefined {
  let count = 0
  for (const { charges } of groups) count += charges.length
  if (!Buffer.isBuffer(reply) || reply.length !== count * VERDICT_BYTES) return undefined
  // Most calls of a quiet service.
  if (count === 1 && groups.length === 1) {
    const verdict = decodeVerdict(reply, 0, groups[0].charges[0])
    return [verdict === undefined ? undefined : [verdict]]
  }
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
  const { limit, cost, debit } = charge
  const code = reply.readUInt8(at)
  const remaining = reply.readUInt32LE(at + 1)
  const resetAfterMs = reply.readDoubleLE(at + 5)
  const waitMs = reply.readDoubleLE(at + 13)
  if (debit === true) {
    const isSound = code === 0 && remaining <= limit.capacity && isSpanOf(limit, resetAfterMs)
    return isSound && waitMs >= 0 && waitMs <= cost
      ? debitVerdict(limit.max, remaining, resetAfterMs, waitMs)
      : undefined
  }
  if (code > 3 || remaining > limit.capacity || !isSpanOf(limit, resetAfterMs) || !isSpanOf(limit, waitMs))
    return undefined
  if (code === 0) return allowedVerdict(limit.max, remaining, resetAfterMs, waitMs)
  if (code === 1) return refusedVerdict(limit.max, remaining, resetAfterMs, waitMs)
  if (code === 3) return mayBeLent(charge) ? lentVerdict(limit.max, resetAfterMs, waitMs) : undefined
  return impossibleVerdict(limit.max, remaining, resetAfterMs, limit.capacity)
}

function sizeOf({ charges }: Group): number {
  let names = 0
  for (const charge of charges) names += mayBeLent(charge) ? 2 : 1
  return names
}

/** Encodes a batch in the form of decide.lua that costs less. */
function encode(groups: readonly Group[], limitTexts: LimitTexts, nowMs: number | undefined): EncodedBatch {
  return groups.length === 1 ? encodeLone(groups[0], limitTexts, nowMs) : encodeGroups(groups, limitTexts, nowMs)
}

function encodeLone(group: Group, limitTexts: LimitTexts, nowMs: number | undefined): EncodedBatch {
  return encodePlain(group.charges, limitTexts, nowMs) ?? encodeGroups([group], limitTexts, nowMs)
}

/** Like decodeVerdicts, and reads the number that answers a lone charge. Some clients have numbers as texts. */
function decode(reply: unknown, groups: readonly Group[]): (readonly Verdict[] | undefined)[] | undefined {
  if (typeof reply !== 'number' && typeof reply !== 'string') return decodeVerdicts(reply, groups)
  if (groups.length !== 1 || groups[0].charges.length !== 1) return undefined
  return [decodeLone(Number(reply), groups[0])]
}

/** Reads the number that answers a lone charge. */
function decodeLone(reply: unknown, { charges }: Group): readonly Verdict[] | undefined {
  if (typeof reply !== 'number' || charges.length !== 1) return undefined
  const verdict = decodeWhole(reply, charges[0])
  return verdict === undefined ? undefined : [verdict]
}

/** How groups travel to decide.lua. */
export const decideFormat: BatchFormat<Group, readonly Verdict[]> = {
  script: loadScript('decide'),
  keyOf: ({ charges }) => charges[0].key,
  sizeOf,
  encode,
  decode,
  lone: { encode: encodeLone, decode: decodeLone },
  byNode: { script: loadScript('decide-node', ['allow-cross-slot-keys']), encode: encodeSections },
}
