import { formatIp, isV4, maskIp, parseIp } from '../../core/identity/ip.ts'

/**
 * Returns the key for an address, as express-rate-limit does: IPv4 in canonical form; for IPv6 the block, such as
 * `2001:db8::/56`. Without a block (`false`), and for text that is not an address, the text as it is.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = 56): string {
  if (!ip.includes(':')) return ip
  const address = parseIp(ip)
  if (address === undefined) return ip
  if (isV4(address)) return formatIp(address)
  // ::1.2.3.4, written so, is a deprecated way to write an IPv4 address.
  if (ip.includes('.') && address[0] === 0 && address[1] === 0 && address[2] === 0) {
    return formatIp([0, 0, 0xffff, address[3]])
  }
  return ipv6Subnet === false ? ip : `${formatIp(maskIp(address, ipv6Subnet))}/${ipv6Subnet}`
}
