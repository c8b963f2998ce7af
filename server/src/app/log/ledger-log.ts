import type { RulePayerEvents } from '../../ledger/rules/rule-payer.ts'
import type { Log } from './log.ts'

/** Logs what keeps the ledger from paying for requests, and what it does not book. */
export function ledgerLog(log: Log): RulePayerEvents {
  return {
    unavailable: (meter, reason) =>
      log.error('ledger.unavailable', `requests that meter ${meter} pays for are refused: ${reason}`),
    lost: (meter, reason) => log.error('ledger.unbooked', `a request is not booked on meter ${meter}: ${reason}`),
  }
}
