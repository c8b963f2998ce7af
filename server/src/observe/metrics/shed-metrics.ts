import { PRIORITY_WORDS, type Priority } from 'sluice/internal/core/shedding/priority'
import type { LoadShedder } from 'sluice/internal/engine/load-shedder'
import { labelsOf } from './labels.ts'
import type { ReportBuilder } from './metrics-report.ts'

const SHEDDABLE: readonly Priority[] = [1, 2, 3]

/** Reports what a process shed, how busy it is, and what share of each priority it sheds. */
export function reportShedding(into: ReportBuilder, shedder: LoadShedder, hasUpstreams: boolean): void {
  for (const { layer, priority, mode, count } of shedder.counts()) {
    if (layer === 'upstream' && !hasUpstreams) continue
    // What is critical is shed for an upstream alone.
    if (priority === 0 && layer !== 'upstream') continue
    into.add('ratelimit_shed_total', labelsOf({ layer, priority: PRIORITY_WORDS[priority], mode }), count)
  }
  into.add('ratelimit_worker_utilization', '', shedder.utilisation)
  for (const priority of SHEDDABLE) {
    into.add('ratelimit_shed_share', labelsOf({ priority: PRIORITY_WORDS[priority] }), shedder.share(priority))
  }
}
