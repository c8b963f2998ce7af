import { THRESHOLDS } from '../../admin/webhooks/table.ts'

/** A QuotaUse is how much of a calendar quota is used in one period. */
export interface QuotaUse {
  readonly used: number
  readonly limit: number
}

/**
 * Returns the thresholds that a use has reached and that were not reported before, the lowest first. A limit of 0 has
 * none: it cannot be used. When a limit is raised in the middle of a period, thresholds are not reported a second time.
 */
export function crossed({ used, limit }: QuotaUse, reported: ReadonlySet<number>): readonly number[] {
  if (limit <= 0) return []
  return THRESHOLDS.filter((threshold) => used * 100 >= threshold * limit && !reported.has(threshold))
}
