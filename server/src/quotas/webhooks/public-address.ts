import { type Cidr, type IpAddress, maskIp, parseCidr, parseIp } from 'sluice/internal/core/identity/ip'

/**
 * Where a webhook may not go: this machine, private networks, and other notations for the same addresses. A token of
 * the admin API must not be enough to ask the services behind the firewall.
 */
const NOT_PUBLIC: readonly Cidr[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Everything of IPv6 that is not a unicast address of the internet.
  '::/3',
  '4000::/2',
  '8000::/1',
  // Within it: tunnels and translations, which lead to IPv4 addresses, and documentation.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map((text) => parseCidr(text) as Cidr)

const V4_MAPPED: Cidr = parseCidr('::ffff:0:0/96') as Cidr

/** Returns whether an address belongs to the public internet. An unreadable address does not. */
export function isPublicAddress(text: string): boolean {
  const zone = text.indexOf('%')
  const ip = parseIp(zone < 0 ? text : text.slice(0, zone))
  if (ip === undefined) return false
  const isV4 = isWithin(ip, V4_MAPPED)
  return !NOT_PUBLIC.some((block) => (isV4 ? block.bits >= 96 : block.bits < 96) && isWithin(ip, block))
}

function isWithin(ip: IpAddress, { base, bits }: Cidr): boolean {
  return maskIp(ip, bits).every((word, i) => word === base[i])
}
