import { formatIp, isV4, maskIp, parseIp } from '../../core/identity/ip.ts'

const ALL_BITS = 128
export const DEFAULT_BITS = 64
const COLON = ':'

/**
 * Returns the key for an address, as @fastify/rate-limit does: IPv4 in canonical form; for IPv6 the first address of
 * its block. Text that is not an address stays, in lower case.
 */
export function normalizeIP(ip: string, ipv6Subnet: number = DEFAULT_BITS): string {
  if (!ip.includes(COLON)) return ip.toLowerCase()
  const address = parseIp(ip)
  if (address === undefined) return ip.toLowerCase()
  return formatIp(isV4(address) || ipv6Subnet >= ALL_BITS ? address : maskIp(address, ipv6Subnet))
}

/** Says whether as many bits can identify a caller; 0 is one key for all of IPv6. */
export function isSubnet(bits: number): boolean {
  return bits >= 0 && bits <= ALL_BITS
}

/** Fills in what is missing or wrong. */
export function subnetOf(bits: unknown): number {
  return typeof bits === 'number' && isSubnet(bits) ? Math.trunc(bits) : DEFAULT_BITS
}
