import { labelsOf } from './labels.ts'
import type { ReportBuilder } from './metrics-report.ts'

/** Reports what the ceiling of a gateway refused, or in shadow mode would have. */
export function reportCeiling(into: ReportBuilder, refused: Readonly<Record<string, number>>, isShadow: boolean): void {
  const mode = isShadow ? 'shadow' : 'on'
  for (const [scope, count] of Object.entries(refused))
    into.add('ratelimit_ceiling_refused_total', labelsOf({ scope, mode }), count)
}
