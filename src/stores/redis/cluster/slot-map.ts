import type { HostPort } from '../connection/address.ts'

/** Returns the address of the master of each slot, from CLUSTER SLOTS; slots that no node serves are holes. */
export function slotMap(reply: unknown, askedHost: string): string[] {
  if (!Array.isArray(reply)) throw new Error('unexpected answer to CLUSTER SLOTS')
  const owners: string[] = []
  for (const [from, to, [host, port]] of reply as [number, number, [unknown, unknown]][]) {
    // A node that does not know its own name leaves it out: it is where it was asked.
    const name = host === null || String(host) === '' ? askedHost : String(host)
    const address = `${name}:${String(port)}`
    for (let slot = Number(from); slot <= Number(to); slot++) owners[slot] = address
  }
  return owners
}

/** Takes an address apart. An IPv6 address stands without brackets, as in MOVED. */
export function hostPortOf(address: string): HostPort {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
}

/** Where a node sends a command instead: permanently (MOVED), or only this time (ASK). */
export interface Redirection {
  readonly address: string
  readonly isAsk: boolean
}

/** Reads `MOVED 3999 127.0.0.1:6381` and `ASK …`, which say that nothing was done. */
export function redirectionOf(message: string, askedAddress: string): Redirection | undefined {
  const match = /^(MOVED|ASK) \d+ (.*):(\d+)$/.exec(message)
  if (match === null) return undefined
  const host = match[2] === '' ? hostPortOf(askedAddress).host : match[2]
  return { address: `${host}:${match[3]}`, isAsk: match[1] === 'ASK' }
}
