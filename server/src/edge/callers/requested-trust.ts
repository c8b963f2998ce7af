import { SluiceError } from 'sluice/internal/core/errors'
import type { CheckRequest } from 'sluice/internal/core/request'
import { CRITICAL } from 'sluice/internal/core/shedding/priority'

// Made once: a message may bring hundreds, and an error with its stack takes as long as many decisions.
const REFUND = new SluiceError('CALLER_NOT_TRUSTED', 'cost', 'the cost is below 0, a refund')
const OWN_LIMIT = new SluiceError('CALLER_NOT_TRUSTED', 'limit', 'the request brings its own limit')

const OWN_PRIORITY = new SluiceError('CALLER_NOT_TRUSTED', 'priority', 'the request asks for critical')

/**
 * Throws when a request asks for what only a trusted caller may do: to refund, to bring a limit, or never to be shed.
 * Each would lift every limit for anyone who can reach a port.
 */
export function requireTrust({ cost = 1, priority, descriptors }: CheckRequest, isTrusted: boolean): void {
  if (isTrusted) return
  if (priority === CRITICAL) throw OWN_PRIORITY
  if (cost < 0) throw REFUND
  for (const descriptor of descriptors) {
    if (descriptor.cost !== undefined && descriptor.cost < 0) throw REFUND
    if (descriptor.limit !== undefined) throw OWN_LIMIT
  }
}
