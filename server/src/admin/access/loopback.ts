import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { SluiceError } from 'sluice/internal/core/errors'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')
const MAPPED = '::ffff:'

/** isLoopback says whether an address is one of this machine alone. A name is only if it is localhost. */
export function isLoopback(host: string): boolean {
  const plain = host.toLowerCase().startsWith(MAPPED) ? host.slice(MAPPED.length) : host
  const version = isIP(plain)
  if (version === 0) return plain.toLowerCase() === 'localhost'
  return LOOPBACK.check(plain, version === 4 ? 'ipv4' : 'ipv6')
}

/** What proxies add. A proxy on this machine speaks for clients that are elsewhere. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const

/** isFromHere says whether a program on this machine asks, for itself, a port that only this machine reaches. */
export function isFromHere({ socket, headers }: IncomingMessage): boolean {
  const { remoteAddress = '', localAddress = '' } = socket
  if (!isLoopback(remoteAddress) || !isLoopback(localAddress)) return false
  return FORWARDED.every((name) => headers[name] === undefined)
}

/** Throws when the admin port would be open to other machines while there is no token to ask for. */
export function requireSafeBind(host: string, hasToken: boolean): void {
  if (!hasToken && !isLoopback(host)) {
    throw new SluiceError('ADMIN_BIND_UNSAFE', '--admin-host', `got ${JSON.stringify(host)}, and there is no token`)
  }
}
