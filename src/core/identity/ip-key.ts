import { formatIp, type IpAddress, isV4, maskIp, parseIp } from './ip.ts'

export interface IpKeyOptions {
  /** How many bits of an IPv6 address identify a caller. Default: 64, the least that one customer usually has. */
  readonly ipv6Prefix?: number
  /** How many bits of an IPv4 address identify a caller. Default: 32. */
  readonly ipv4Prefix?: number
}

/**
 * Returns the key of the budget that an address counts against: an IPv4 address in canonical form; for an IPv6 address
 * its block, such as `2001:db8::/64`, because a caller with one address of a block has all of them. Returns undefined
 * for text that is not an address.
 */
export function ipKey(text: string, options: IpKeyOptions = {}): string | undefined {
  // A plain IPv4 address has only one written form.
  const isWhole = options.ipv4Prefix === undefined || options.ipv4Prefix === 32
  if (isWhole && !text.includes(':') && parseIp(text) !== undefined) return text
  const ip = parseNode(text)
  if (ip === undefined) return undefined
  // Nearly always: an IPv4 address has only one written form.
  return isV4(ip) && !text.includes(':') && (options.ipv4Prefix ?? 32) === 32 ? text : keyOf(ip, options)
}

function keyOf(ip: IpAddress, { ipv6Prefix = 64, ipv4Prefix = 32 }: IpKeyOptions): string {
  if (isV4(ip)) return ipv4Prefix === 32 ? formatIp(ip) : `${formatIp(maskIp(ip, ipv4Prefix + 96))}/${ipv4Prefix}`
  return ipv6Prefix === 128 ? formatIp(ip) : `${formatIp(maskIp(ip, ipv6Prefix))}/${ipv6Prefix}`
}

/**
 * Reads an address the way that sockets and proxies write it: with a zone (`fe80::1%eth0`), with a port
 * (`192.0.2.1:47011`), in brackets (`[2001:db8::1]:443`).
 */
export function parseNode(text: string): IpAddress | undefined {
  if (text.length > MAX_NODE_CHARACTERS) return undefined
  if (text.charCodeAt(0) === OPENING_BRACKET) {
    const end = text.indexOf(']')
    if (end < 0 || !isPort(text, end + 1)) return undefined
    const inside = withoutZone(text.slice(1, end))
    return inside.includes(':') ? parseIp(inside) : undefined
  }
  const colon = text.indexOf(':')
  if (colon < 0) return parseIp(text)
  if (text.includes(':', colon + 1)) return parseIp(withoutZone(text))
  return isPort(text, colon) ? parseIp(text.slice(0, colon)) : undefined
}

const MAX_NODE_CHARACTERS = 80
const OPENING_BRACKET = 0x5b

function withoutZone(text: string): string {
  const percent = text.indexOf('%')
  return percent < 0 ? text : text.slice(0, percent)
}

/** Returns whether the rest of a text is nothing, or a colon and a port: a number, or obfuscated (RFC 7239, 6.1). */
function isPort(text: string, from: number): boolean {
  if (from === text.length) return true
  if (text[from] !== ':' || from + 1 === text.length) return false
  for (let i = from + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const isDigit = code >= 0x30 && code <= 0x39
    const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a
    if (!isDigit && !(text[from + 1] === '_' && (isLetter || '._-'.includes(text[i])))) return false
  }
  return true
}
