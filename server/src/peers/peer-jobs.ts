import {
  allowedVerdict,
  debitVerdict,
  impossibleVerdict,
  refusedVerdict,
  type Verdict,
} from 'sluice/internal/core/decision'
import type { Limit } from 'sluice/internal/core/limit'
import { type Charge, type HeldPlaces, RENEWALS, type Renewal } from 'sluice/internal/engine/ports'
import type { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { MessageReader, MessageWriter } from './binary.ts'
import { limitOf, textOf } from './limit-texts.ts'

export const JOB_KINDS = ['decide', 'acquire', 'release', 'renew', 'reset'] as const

/** What one partition is asked to do. */
export interface PeerJob {
  readonly kind: (typeof JOB_KINDS)[number]
  readonly partition: number
  /** release, renew: the permits. */
  readonly id: number
  readonly charges: readonly PeerCharge[]
  /** It was forwarded by a node that does not have the partition, and is not forwarded again. */
  readonly isForwarded: boolean
}

/** A charge, or permits of one counter: then the cost is how many, 0 for those that are never taken again. */
export type PeerCharge = Pick<Charge, 'key' | 'limit' | 'cost' | 'enforce' | 'quota' | 'debit'>

/** What came of it. */
export interface PeerAnswer {
  readonly verdicts: readonly Verdict[]
  /** acquire: the permits that were taken; 0 for none. */
  readonly id: number
  readonly renewal: Renewal
}

/** Does a job on the counters of its partition. */
export function runJob(store: MemoryStore, { kind, id, charges }: PeerJob): PeerAnswer {
  const answer = { verdicts: [], id: 0, renewal: 'lost' } as const
  if (kind === 'decide') return { ...answer, verdicts: store.decide(charges) }
  if (kind === 'acquire') {
    const { verdicts, permits } = store.acquire(charges)
    return { ...answer, verdicts, id: permits === undefined ? 0 : Number(permits.id) }
  }
  if (kind === 'reset') for (const { key, limit } of charges) store.reset(key, limit)
  else if (kind === 'release') store.release({ id, held: charges })
  else return { ...answer, renewal: store.renew([{ id, held: charges.map(placesOf) }])[0] }
  return answer
}

const placesOf = ({ key, limit, cost }: PeerCharge): HeldPlaces => ({ key, limit, ...(cost > 0 && { places: cost }) })

const VERSION = 1
const ENFORCE = 1
const QUOTA = 2
const DEBIT = 4

/** Encodes jobs for another node. Each limit is there once. */
export function encodeJobs(jobs: readonly PeerJob[]): Buffer {
  const limits = new Map<Limit, number>()
  for (const { charges } of jobs)
    for (const { limit } of charges) if (!limits.has(limit)) limits.set(limit, limits.size)
  const out = new MessageWriter()
  out.byte(VERSION)
  out.short(limits.size)
  for (const limit of limits.keys()) out.text(textOf(limit))
  out.short(jobs.length)
  for (const { kind, partition, id, charges, isForwarded } of jobs) {
    out.byte(JOB_KINDS.indexOf(kind))
    out.byte(isForwarded ? 1 : 0)
    out.short(partition)
    out.double(id)
    out.short(charges.length)
    for (const { key, limit, cost, enforce, quota, debit } of charges) {
      out.short(limits.get(limit) ?? 0)
      out.byte((enforce ? ENFORCE : 0) + (quota === true ? QUOTA : 0) + (debit === true ? DEBIT : 0))
      out.double(cost)
      out.text(key)
    }
  }
  return out.bytes
}

/** Undoes encodeJobs. Throws a RangeError at what cannot be jobs. */
export function decodeJobs(bytes: Uint8Array): readonly PeerJob[] {
  const from = new MessageReader(bytes)
  if (from.byte() !== VERSION) throw new RangeError('jobs of another version')
  const limits = Array.from({ length: from.short() }, () => limitOf(from.text()))
  const jobs = Array.from({ length: from.short() }, (): PeerJob => {
    const kind = JOB_KINDS[from.byte()]
    const isForwarded = from.byte() === 1
    const partition = from.short()
    const id = from.double()
    const charges = Array.from({ length: from.short() }, (): PeerCharge => {
      const limit = limits[from.short()]
      const flags = from.byte()
      const cost = from.double()
      const key = from.text()
      if (limit === undefined || !Number.isInteger(cost)) throw new RangeError('a malformed charge')
      const modes = { quota: (flags & QUOTA) !== 0, debit: (flags & DEBIT) !== 0 }
      return { key, limit, cost, enforce: (flags & ENFORCE) !== 0, ...modes }
    })
    if (kind === undefined) throw new RangeError('a job of an unknown kind')
    return { kind, partition, id, charges, isForwarded }
  })
  from.end()
  return jobs
}

const KINDS = ['allowed', 'refused', 'impossible'] as const
const DROPPED = 3

/** Encodes what came of jobs. Undefined: this node does not have the partition. */
export function encodeAnswers(answers: readonly (PeerAnswer | undefined)[]): Buffer {
  const out = new MessageWriter()
  out.short(answers.length)
  for (const answer of answers) {
    out.byte(answer === undefined ? 0 : 1)
    if (answer === undefined) continue
    out.double(answer.id)
    out.byte(RENEWALS.indexOf(answer.renewal))
    out.short(answer.verdicts.length)
    for (const verdict of answer.verdicts) encodeVerdict(out, verdict)
  }
  return out.bytes
}

function encodeVerdict(out: MessageWriter, verdict: Verdict): void {
  const { kind, limit, remaining, resetAfterMs } = verdict
  out.byte(kind === 'allowed' && verdict.dropped !== undefined ? DROPPED : KINDS.indexOf(kind))
  out.double(limit)
  out.double(remaining)
  out.double(resetAfterMs)
  if (kind === 'allowed') out.double(verdict.dropped ?? verdict.delayMs)
  else out.double(kind === 'refused' ? verdict.retryAfterMs : verdict.maxCost)
}

/** Undoes encodeAnswers. Throws a RangeError at what cannot be the answers to so many jobs. */
export function decodeAnswers(bytes: Uint8Array, jobs: readonly PeerJob[]): readonly (PeerAnswer | undefined)[] {
  const from = new MessageReader(bytes)
  if (from.short() !== jobs.length) throw new RangeError('answers to other jobs')
  const answers = jobs.map(({ kind, charges }): PeerAnswer | undefined => {
    if (from.byte() === 0) return undefined
    const id = from.double()
    const renewal = RENEWALS[from.byte()]
    const verdicts = Array.from({ length: from.short() }, () => decodeVerdict(from))
    const due = kind === 'decide' || kind === 'acquire' ? charges.length : 0
    if (renewal === undefined || verdicts.length !== due) throw new RangeError('a malformed answer')
    return { id, renewal, verdicts }
  })
  from.end()
  return answers
}

function decodeVerdict(from: MessageReader): Verdict {
  const kind = from.byte()
  const [limit, remaining, resetAfterMs, last] = [from.double(), from.double(), from.double(), from.double()]
  if (![limit, remaining, resetAfterMs, last].every((number) => number >= 0))
    throw new RangeError('a malformed verdict')
  if (kind === DROPPED) return debitVerdict(limit, remaining, resetAfterMs, last)
  if (kind === 0) return allowedVerdict(limit, remaining, resetAfterMs, last)
  if (kind === 1) return refusedVerdict(limit, remaining, resetAfterMs, last)
  if (kind === 2) return impossibleVerdict(limit, remaining, resetAfterMs, last)
  throw new RangeError('a verdict of an unknown kind')
}
