import { ServiceLedger, type ServiceLedgerOptions } from '../library/service-ledger.ts'

export { SluiceError } from '../core/errors.ts'
export type { ServiceLedger, ServiceLedgerOptions }

/**
 * Names the ledger that pays for what rules with a meter admit: that of a Sluice service.
 *
 *   rateLimit({ rules: 'rules.yaml', ledger: ledger({ url: 'http://localhost:8082', token }) })
 */
export function ledger(options: ServiceLedgerOptions): ServiceLedger {
  return new ServiceLedger(options)
}
