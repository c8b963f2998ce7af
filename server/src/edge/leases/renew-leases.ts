import { SluiceError } from 'sluice/internal/core/errors'
import { andThen } from 'sluice/internal/engine/maybe'
import type { HeldPermits, MaybePromise, Renewal } from 'sluice/internal/engine/ports'
import type { LimiterPort } from '../limiter-port.ts'
import type { LeaseTokens } from './lease-tokens.ts'

/** How many leases one request renews: each is decrypted, and may be about many counters. */
export const MAX_LEASES = 100

/** How long a lease is good from now on, or why it was not renewed. */
export type LeaseRenewal = { readonly ttlMs: number } | SluiceError

/**
 * Renews leases of holders in other processes. Each has a separate answer. A lease that expired or was released is not
 * taken again: the two look alike, and a released lease must not take permits.
 */
export function renewLeases(
  limiter: Pick<LimiterPort, 'renew'>,
  tokens: LeaseTokens,
  leases: readonly string[],
): MaybePromise<readonly LeaseRenewal[]> {
  const opened = leases.map((lease) => openLease(tokens, lease))
  const known = opened.filter((each): each is HeldPermits => !(each instanceof SluiceError))
  if (known.length === 0) return opened as SluiceError[]
  return andThen(limiter.renew(known), (renewals) => {
    let next = 0
    return opened.map((each) => (each instanceof SluiceError ? each : renewalOf(each, renewals[next++])))
  })
}

/** Returns how long permits are held without being renewed. */
export function leaseTtlMs({ held }: HeldPermits): number {
  return Math.min(...held.map(({ limit }) => limit.windowMs))
}

function openLease(tokens: LeaseTokens, lease: string): HeldPermits | SluiceError {
  try {
    return tokens.open(lease) ?? ELSEWHERE
  } catch (error) {
    if (error instanceof SluiceError) return error
    throw error
  }
}

function renewalOf(permits: HeldPermits, renewal: Renewal): LeaseRenewal {
  if (renewal === 'missed') return MISSED
  return renewal === 'lost' ? EXPIRED : { ttlMs: leaseTtlMs(permits) }
}

// Made once: an error with its stack takes as long as many renewals.
const EXPIRED = new SluiceError('LEASE_EXPIRED', 'lease', 'the lease has expired or was released')
const MISSED = new SluiceError('LEASE_NOT_RENEWED', 'lease', 'the store did not answer')
const ELSEWHERE = new SluiceError(
  'LEASE_NOT_RENEWED',
  'lease',
  'another process granted it while the store was unavailable',
)
