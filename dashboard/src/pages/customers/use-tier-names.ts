import { ask } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'

/** useTierNames are the tiers that rules and the API know, each once. */
export function useTierNames(): readonly string[] {
  const tiers = useResource('tiers in force', async (signal) => (await ask('listTiersInForce', { signal })).body.tiers)
  return [...new Set((tiers.data ?? []).map(({ name }) => name))]
}
