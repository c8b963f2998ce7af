import { labelsOf } from './labels.ts'
import type { ReportBuilder } from './metrics-report.ts'

/** How many concurrent requests an address takes, and how many it has. */
interface UpstreamFigures {
  readonly upstream: string
  readonly address: string
  readonly limit: number
  readonly inFlight: number
  readonly waiting: number
}

/** Reports the limits of upstreams, and how they are used. */
export function reportUpstreams(into: ReportBuilder, limits: readonly UpstreamFigures[]): void {
  for (const { upstream, address, limit, inFlight, waiting } of limits) {
    const labels = labelsOf({ upstream, address })
    into.add('ratelimit_upstream_limit', labels, limit)
    into.add('ratelimit_upstream_in_flight', labels, inFlight)
    into.add('ratelimit_upstream_waiting', labels, waiting)
  }
}
