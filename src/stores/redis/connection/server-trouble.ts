import { ReplyError } from '../resp/reply.ts'
import type { RespClient } from '../resp/resp-client.ts'

/** What a server says to everything while it cannot work at all: it has just started, or wants to know who asks. */
const USELESS = /^(LOADING|NOAUTH|MASTERDOWN)\b/

/**
 * Returns what is wrong with a server that answers but cannot count: it is still loading, requires a password, or is a
 * replica that accepts no writes. A server that does not report this (an ACL may forbid it) is accepted; one that does
 * not answer rejects.
 */
export async function troubleOf(client: Pick<RespClient, 'call'>): Promise<string | undefined> {
  const ask = (...args: string[]): Promise<string> =>
    client.call(args).then(String, (error: unknown) => {
      if (error instanceof ReplyError) return error.message
      throw error
    })
  const [ping, replication] = await Promise.all([ask('PING'), ask('INFO', 'replication')])
  if (USELESS.test(ping)) return ping
  const isReplica = /^role:slave/m.test(replication) && /^slave_read_only:1/m.test(replication)
  return isReplica ? 'READONLY it is a replica, which takes no writes' : undefined
}
