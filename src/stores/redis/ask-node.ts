import type { HostPort, RedisAddress } from './address.ts'
import { clientOptions } from './client-options.ts'
import { destroy, loadRedisPackage } from './redis-package.ts'

const TIMEOUT_MS = 1_000

/** askNode sends one command over a connection of its own. It rejects when there is no answer within a second. */
export async function askNode(address: RedisAddress, node: HostPort, args: string[]): Promise<unknown> {
  const { createClient } = await loadRedisPackage()
  const options = clientOptions(address)
  const client = createClient({ ...options, socket: { ...options.socket, ...node } } as typeof options)
  client.on('error', () => {})
  const timer = setTimeout(() => destroy(client), TIMEOUT_MS)
  try {
    await client.connect()
    return await client.sendCommand(args)
  } finally {
    clearTimeout(timer)
    // Also when it calls itself closed: a client that was destroyed while it connected has a socket nevertheless.
    destroy(client)
  }
}
