import { resolve4, resolve6, resolveSrv } from 'node:dns/promises'
import { got, SluiceError } from 'sluice/internal/core/errors'

const ADDRESS = /^(?:[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?|\[[0-9a-f:.]+\]):([0-9]{1,5})$/i
const MOST_PEERS = 256

/** Lists the addresses of all nodes, as often as it is called. */
export type Discovery = () => Promise<readonly string[]>

/**
 * Reads `--peers`: addresses with commas between them, `dns:NAME:PORT` for all addresses of a name (as of a headless
 * service), or `srv:NAME` for its SRV records, whose names stay the same when a pod moves.
 */
export function discoveryOf(text: string, where: string): Discovery {
  const [kind, ...rest] = text.split(':')
  if (kind === 'srv' && rest.length === 1 && rest[0] !== '') return () => fromSrv(rest[0])
  if (kind === 'dns' && rest.length > 1) {
    const [name, port] = [rest.slice(0, -1).join(':'), portOf(rest.at(-1), text, where)]
    return () => fromDns(name, port)
  }
  const addresses = [...new Set(text.split(',').map((each) => each.trim()))]
  if (addresses.length > MOST_PEERS) throw new SluiceError('PEERS_INVALID', where, `got ${addresses.length} addresses`)
  for (const address of addresses) portOf(ADDRESS.exec(address)?.[1], address, where)
  return async () => addresses
}

/** Checks the address of one node. */
export function peerAddress(text: string, where: string): string {
  portOf(ADDRESS.exec(text)?.[1], text, where)
  return text
}

function portOf(text: string | undefined, whole: string, where: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  throw new SluiceError('PEERS_INVALID', where, got(whole))
}

async function fromDns(name: string, port: number): Promise<readonly string[]> {
  const found = await Promise.allSettled([resolve4(name), resolve6(name)])
  const [four, six] = found.map((each) => (each.status === 'fulfilled' ? each.value : []))
  return [...four.map((address) => `${address}:${port}`), ...six.map((address) => `[${address}]:${port}`)].sort()
}

async function fromSrv(name: string): Promise<readonly string[]> {
  const records = await resolveSrv(name)
  return records.map(({ name: target, port }) => `${target}:${port}`).sort()
}
