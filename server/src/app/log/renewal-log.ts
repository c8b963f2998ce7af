import type { RenewalEvents } from 'sluice/internal/engine/renewals'
import type { Log } from './log.ts'

/** Logs that permits cannot be renewed: once, until they can be again. */
export function renewalLog(log: Log): RenewalEvents {
  let isMissing = false
  return {
    renewed(renewal, count) {
      if ((renewal === 'missed') === isMissing) return
      isMissing = !isMissing
      if (isMissing) {
        const message = `the store did not answer: ${count} places were not renewed, and are free when their time is over; it is asked again`
        log.warn('places.missed', message, { count })
      } else log.info('places.renewed', 'places are renewed again')
    },
  }
}
