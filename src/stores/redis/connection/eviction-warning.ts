/**
 * Returns a warning if the server evicts keys of any kind when it runs out of memory: counters would be reset silently.
 * Returns nothing for a server that does not report its policy (an ACL may forbid it).
 */
export async function evictionWarning(send: (args: string[]) => Promise<unknown>): Promise<string | undefined> {
  const info = await send(['INFO', 'memory']).catch(() => '')
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(info))?.[1]
  if (!policy?.startsWith('allkeys-')) return undefined
  return `maxmemory-policy is ${policy}: counters may be evicted and so forgiven; use noeviction or volatile-ttl`
}
