import type { HostPort, RedisAddress } from './address.ts'
import { askNode } from './ask-node.ts'
import type { Locate } from './single-connection.ts'

/**
 * Asks the sentinels, one after the other, where the master is. The answer of the first that knows counts. Credentials
 * of the address are the server's; sentinels have their own, or none.
 */
export function sentinelLocate(address: RedisAddress): Locate {
  return async () => {
    for (const node of address.nodes) {
      const found = await masterOf(address, node).catch(() => undefined)
      if (found !== undefined) return found
    }
    throw new Error(`no sentinel knows a master named ${JSON.stringify(address.master)}`)
  }
}

async function masterOf(address: RedisAddress, sentinel: HostPort): Promise<HostPort | undefined> {
  const { username, password } = address.sentinelCredentials ?? {}
  const reply = await askNode({ ...address, username, password, database: 0 }, sentinel, [
    'SENTINEL',
    'get-master-addr-by-name',
    address.master ?? '',
  ])
  return Array.isArray(reply) ? { host: String(reply[0]), port: Number(reply[1]) } : undefined
}
