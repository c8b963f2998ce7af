/**
 * evictionWarning looks at what the server does when it runs out of memory, and returns a warning when that is to throw
 * away any key: counters would be reset silently. A server that does not tell (an ACL may forbid it) is not warned about.
 */
export async function evictionWarning(send: (args: string[]) => Promise<unknown>): Promise<string | undefined> {
  const info = await send(['INFO', 'memory']).catch(() => '')
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(info))?.[1]
  if (!policy?.startsWith('allkeys-')) return undefined
  return `maxmemory-policy is ${policy}: counters may be evicted and so forgiven; use noeviction or volatile-ttl`
}
