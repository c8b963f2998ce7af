import type { Charge } from '../../engine/ports.ts'
import type { Refusals } from './refusals.ts'
import type { Slice } from './slice.ts'
import type { Slices } from './slices.ts'

const DEFAULT_SYNC_MS = 100
const NO_SLICES: Slice[] = []

/**
 * Returns the slice that a charge is counted by, and undefined where the parent decides: rules that are exact, and
 * callers that do not come often enough for a slice to pay. It counts as a visit, unless the charge is known to be
 * refused.
 */
export function sliceOf(charge: Charge, slices: Slices, refusals: Refusals, nowMs: number): Slice | undefined {
  if (!slices.counts(charge)) return undefined
  const { key, limit, cost, debit } = charge
  const known = slices.get(key)
  if (known === undefined) {
    if (cost <= 0 || cost > limit.capacity || debit === true || refusals.has(key, limit, cost, nowMs)) return undefined
    if (!slices.paysFor(key, limit, syncMsOf(charge), nowMs)) return undefined
    return sliceFor(charge, slices, nowMs)
  }
  slices.use(known)
  const isEventual = charge.policy?.consistency === 'eventual'
  if (known.limit === limit && (known.kind === 'eventual') === isEventual) return known
  return sliceFor(charge, slices, nowMs)
}

/** The slices of a group's charges. */
export interface Found {
  /** By position: see sliceOf. */
  readonly slices: readonly (Slice | undefined)[]
  /** Slices of charges that have become exact: what they have spent must be reported before the parent decides. */
  readonly former: readonly Slice[]
}

/** Finds the slices of a group. Slices of charges that have become exact come first: others may evict them. */
export function findSlices(charges: readonly Charge[], slices: Slices, refusals: Refusals, nowMs: number): Found {
  let former: Slice[] = NO_SLICES
  for (const charge of slices.size > 0 ? charges : []) {
    const slice = slices.counts(charge) ? undefined : slices.get(charge.key)
    if (slice !== undefined && !former.includes(slice)) former = [...former, slice]
  }
  return { slices: charges.map((charge) => sliceOf(charge, slices, refusals, nowMs)), former }
}

/** Returns the slice of a charge, or a new one, whether it pays or not. */
export function sliceFor(charge: Charge, slices: Slices, nowMs: number): Slice {
  const { key, limit, policy } = charge
  return slices.find(key, { limit, syncMs: syncMsOf(charge), timeoutMs: policy?.timeoutMs ?? slices.timeoutMs }, nowMs)
}

/** Returns how often an eventual rule exchanges its counts; undefined for one that is leased. */
function syncMsOf({ policy }: Charge): number | undefined {
  return policy?.consistency === 'eventual' ? (policy.syncIntervalMs ?? DEFAULT_SYNC_MS) : undefined
}
