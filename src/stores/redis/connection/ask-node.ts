import { RespClient } from '../resp/resp-client.ts'
import type { HostPort, RedisAddress } from './address.ts'
import { clientOptions } from './client-options.ts'
import type { Reply } from './connection.ts'

const TIMEOUT_MS = 1_000

/** Sends one command over a separate connection. Rejects when there is no answer within a second. */
export async function askNode(address: RedisAddress, node: HostPort, args: string[]): Promise<Reply> {
  let made: RespClient | undefined
  const timer = setTimeout(() => made?.destroy('no answer within a second'), TIMEOUT_MS)
  try {
    const client = await RespClient.open(clientOptions(address, node), (client) => {
      made = client
    })
    return await client.call(args)
  } finally {
    clearTimeout(timer)
    made?.destroy()
  }
}
