/**
 * 16 bytes as four words of 32 bits, whatever it was written as. IPv4 stands at ::ffff:0:0/96, so that `1.2.3.4`,
 * `::ffff:1.2.3.4` and `::ffff:102:304` are the same address.
 */
export type IpAddress = readonly [number, number, number, number]

const MAPPED = 0xffff

/** Parses an address in any written form, or returns undefined. A zone (`%eth0`) is not part of an address. */
export function parseIp(text: string): IpAddress | undefined {
  if (text.length > 45) return undefined
  if (!text.includes(':')) {
    const v4 = parseV4(text)
    return v4 === undefined ? undefined : [0, 0, MAPPED, v4]
  }
  return parseV6(text)
}

/** Returns whether the address is an IPv4 one. */
export function isV4(ip: IpAddress): boolean {
  return ip[0] === 0 && ip[1] === 0 && ip[2] === MAPPED
}

/** Keeps the first `bits` of the 128 and clears the rest. For IPv4, bit 96 is where the address starts. */
export function maskIp(ip: IpAddress, bits: number): IpAddress {
  return [maskWord(ip[0], bits), maskWord(ip[1], bits - 32), maskWord(ip[2], bits - 64), maskWord(ip[3], bits - 96)]
}

function maskWord(word: number, bits: number): number {
  if (bits >= 32) return word
  return bits <= 0 ? 0 : (word & (-1 << (32 - bits))) >>> 0
}

/** Formats an address canonically: dotted for IPv4, RFC 5952 for IPv6. */
export function formatIp(ip: IpAddress): string {
  if (isV4(ip)) return `${ip[3] >>> 24}.${(ip[3] >>> 16) & 0xff}.${(ip[3] >>> 8) & 0xff}.${ip[3] & 0xff}`
  const groups = ip.flatMap((word) => [word >>> 16, word & 0xffff])
  const [start, length] = longestZeros(groups)
  const hex = groups.map((group) => group.toString(16))
  if (length < 2) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}

function longestZeros(groups: readonly number[]): [start: number, length: number] {
  let best: [number, number] = [0, 0]
  for (let start = 0; start < groups.length; start++) {
    let length = 0
    while (groups[start + length] === 0) length++
    if (length > best[1]) best = [start, length]
  }
  return best
}

/** A block of addresses: all whose first `bits` equal the base's. */
export interface Cidr {
  readonly base: IpAddress
  readonly bits: number
}

/** Reads `10.0.0.0/8`, `2001:db8::/32` or a single address. Bits beyond the prefix are cleared. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/')
  const ip = parseIp(slash < 0 ? text : text.slice(0, slash))
  if (ip === undefined) return undefined
  const most = text.includes(':') ? 128 : 32
  const prefix = slash < 0 ? most : decimal(text.slice(slash + 1), most)
  if (prefix === undefined) return undefined
  const bits = prefix + 128 - most
  return { base: maskIp(ip, bits), bits }
}

const DOT = 0x2e
const COLON = 0x3a
const ZERO = 0x30
const NINE = 0x39

/**
 * Reads four decimal bytes, from a position to the end. No leading zeros: some programs read those as octal, and one of
 * the two is wrong. One pass and no strings: gateways ask about an address with every request.
 */
function parseV4(text: string, from = 0): number | undefined {
  let value = 0
  let byte = -1
  let dots = 0
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === DOT) {
      if (byte < 0 || dots === 3) return undefined
      value = value * 256 + byte
      byte = -1
      dots++
    } else {
      if (code < ZERO || code > NINE || byte === 0) return undefined
      byte = (byte < 0 ? 0 : byte * 10) + code - ZERO
      if (byte > 255) return undefined
    }
  }
  return dots === 3 && byte >= 0 ? value * 256 + byte : undefined
}

/** Reads digits only, without leading zeros: some programs read those as octal, and one of the two is wrong. */
function decimal(text: string, most: number): number | undefined {
  if (!/^(0|[1-9]\d{0,2})$/.test(text)) return undefined
  const value = Number(text)
  return value <= most ? value : undefined
}

/** What parseV6 has read of an address so far, in groups of 16 bits. */
const groups = new Uint16Array(8)

function parseV6(text: string): IpAddress | undefined {
  let count = 0
  /** How many groups stand before `::`. */
  let gap = -1
  let i = 0
  if (text.startsWith('::')) {
    gap = 0
    i = 2
  }
  while (i < text.length) {
    const start = i
    let value = 0
    for (let digit = hexDigit(text, i); digit >= 0 && i < start + 5; digit = hexDigit(text, i)) {
      value = value * 16 + digit
      i++
    }
    if (text.charCodeAt(i) === DOT) {
      // An IPv4 address makes the last two groups.
      const v4 = count > 6 ? undefined : parseV4(text, start)
      if (v4 === undefined) return undefined
      groups[count++] = v4 >>> 16
      groups[count++] = v4 & 0xffff
      break
    }
    if (i === start || i > start + 4 || count === 8) return undefined
    groups[count++] = value
    if (i === text.length) break
    if (text.charCodeAt(i++) !== COLON || i === text.length) return undefined
    if (text.charCodeAt(i) === COLON) {
      if (gap >= 0) return undefined
      gap = count
      i++
    }
  }
  if (gap < 0 ? count !== 8 : count > 7) return undefined
  if (gap >= 0) {
    groups.copyWithin(8 - count + gap, gap, count)
    groups.fill(0, gap, 8 - count + gap)
  }
  return [wordAt(0), wordAt(2), wordAt(4), wordAt(6)]
}

function wordAt(i: number): number {
  return groups[i] * 65_536 + groups[i + 1]
}

/** Returns the value of a digit, or -1 for any other character and past the end. */
function hexDigit(text: string, i: number): number {
  const code = text.charCodeAt(i)
  if (code >= ZERO && code <= NINE) return code - ZERO
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
