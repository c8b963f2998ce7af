import { SluiceError } from 'sluice/internal/core/errors'
import type { CheckRequest } from 'sluice/internal/core/request'

// Made once: a message may bring hundreds, and an error with its stack takes as long as many decisions.
const REFUND = new SluiceError('CALLER_NOT_TRUSTED', 'cost', 'below 0, to give back')
const OWN_LIMIT = new SluiceError('CALLER_NOT_TRUSTED', 'limit', "one of the request's own")

const SETTLE = new SluiceError('CALLER_NOT_TRUSTED', 'reservation', 'to be settled')

/** requireTrustToSettle throws when a caller may not settle. Less than was reserved gives back, and nodes remember nothing. */
export function requireTrustToSettle(isTrusted: boolean): void {
  if (!isTrusted) throw SETTLE
}

/**
 * requireTrust throws when a request asks for what only a trusted caller may have: to give back what was spent, or to be
 * measured by a limit of its own. Either would lift every limit for whoever can reach a port.
 */
export function requireTrust({ cost = 1, descriptors }: CheckRequest, isTrusted: boolean): void {
  if (isTrusted) return
  if (cost < 0) throw REFUND
  for (const descriptor of descriptors) {
    if (descriptor.cost !== undefined && descriptor.cost < 0) throw REFUND
    if (descriptor.limit !== undefined) throw OWN_LIMIT
  }
}
