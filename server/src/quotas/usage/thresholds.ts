import { THRESHOLDS } from '../../admin/webhooks/table.ts'

/** A QuotaUse is how much of a calendar quota is used in one period. */
export interface QuotaUse {
  readonly used: number
  readonly limit: number
}

/**
 * crossed returns the thresholds that a use has reached and that were not told before, the lowest first. A limit of 0 has none:
 * nobody can use it. When a limit is raised in the middle of a period, what was told stays told.
 */
export function crossed({ used, limit }: QuotaUse, told: ReadonlySet<number>): readonly number[] {
  if (limit <= 0) return []
  return THRESHOLDS.filter((threshold) => used * 100 >= threshold * limit && !told.has(threshold))
}
