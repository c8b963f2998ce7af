import type { Descriptor, Entry } from '../core/request.ts'
import type { Domain } from '../core/rules/rule-set.ts'
import type { Caller } from './caller.ts'
import { PATH_KEY } from './routed-rules.ts'

type Way = readonly Entry[]
/** What of a domain decides which descriptors a request has. */
export type DescribedDomain = Pick<Domain, 'hasTiers' | 'evaluatePath'>

const ALONE: readonly Way[] = [[]]

/**
 * Returns the descriptors of a request, with the keys that rules usually have; middleware and gateway both use it.
 * Those are all known parts of the caller (`ip`, `api_key`, `user`, `tenant`), each alone, with the method, with the
 * path, and with both; and method and path alone. A descriptor that no rule matches costs a look-up. Where rules on the
 * way down apply too, the longest descriptors are enough, in either order: the planner charges a counter that several
 * of them pass once. A caller's `tier` is added to all of them where tiers pick limits; elsewhere it would be an entry
 * that no rule matches. `otherPaths` are other ways in which a router may read the path: each reading gets descriptors.
 */
export function requestDescriptors(
  domain: DescribedDomain,
  caller: Caller,
  method: string,
  path: string,
  otherPaths: readonly string[] = [],
): readonly Descriptor[] {
  const by = { key: 'method', value: method }
  const ways = waysOf(domain, by, { key: PATH_KEY, value: path })
  for (const value of otherPaths) {
    for (const way of waysOf(domain, by, { key: PATH_KEY, value })) {
      if (way.some(({ key }) => key === PATH_KEY)) ways.push(way)
    }
  }
  return descriptorsOf(domain, caller, ways)
}

/** Returns the descriptors of a caller to reset. */
export function callerDescriptors(domain: DescribedDomain, caller: Caller): readonly Descriptor[] {
  return descriptorsOf(domain, caller, ALONE)
}

function waysOf({ evaluatePath }: DescribedDomain, method: Entry, path: Entry): Way[] {
  if (!evaluatePath) return [[], [method], [path], [method, path]]
  return [
    [method, path],
    [path, method],
  ]
}

function descriptorsOf(
  { hasTiers }: DescribedDomain,
  { ip, apiKey, moreApiKeys, user, tenant, tier }: Caller,
  ways: readonly Way[],
): readonly Descriptor[] {
  const first: Way = hasTiers && tier !== undefined ? [{ key: 'tier', value: tier }] : []
  const found: Descriptor[] = []
  addWays(found, first, 'ip', ip, ways)
  addWays(found, first, 'api_key', apiKey, ways)
  if (moreApiKeys !== undefined) for (const key of moreApiKeys) addWays(found, first, 'api_key', key, ways)
  addWays(found, first, 'user', user, ways)
  addWays(found, first, 'tenant', tenant, ways)
  for (const way of ways) if (way.length > 0) found.push({ entries: [...first, ...way] })
  return found
}

function addWays(found: Descriptor[], first: Way, key: string, value: string | undefined, ways: readonly Way[]): void {
  if (value === undefined) return
  const owner = { key, value }
  for (const way of ways) found.push({ entries: [...first, owner, ...way] })
}
