/**
 * Returns what one party has of an address: the address itself for IPv4, and the first 64 bits of IPv6, because a party
 * with one address has 2^64. All Unix sockets are one: ''.
 */
export function networkOf(address: string): string {
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice(7)
  if (!address.includes(':')) return address
  const [front, back] = address.replace(/%.*$/, '').split('::')
  const head = front === '' ? [] : front.split(':')
  const tail = back === undefined || back === '' ? [] : back.split(':')
  const zeros = back === undefined ? 0 : 8 - head.length - tail.length
  const groups = [...head, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...tail]
  return `${groups.slice(0, 4).join(':')}::/64`
}
