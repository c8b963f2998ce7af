import { ask } from '../../api/client.ts'
import type { Operations, Tier, TierUse } from '../../api/operations.ts'
import { type PlainLimit, plainLimits } from './tier-draft.ts'

export type TierInForce = Operations['listTiersInForce']['answer']['tiers'][number]

/** A TierRow is one tier of one domain. */
export interface TierRow {
  readonly domain: string
  readonly name: string
  readonly limits: readonly PlainLimit[]
  /** The one that stands in place of a file's. */
  readonly stored: Tier | undefined
  /** As decisions find it; undefined: no rule asks for it, or it does not fit the rules. */
  readonly inForce: TierInForce | undefined
  /** How many customers are on it. Undefined: there is no database that counts them, or it does not answer. */
  readonly customers: number | undefined
}

const MOST = 500

/** rowsOf joins the tiers in force with stored tiers that have no effect. */
export function rowsOf(
  inForce: readonly TierInForce[],
  stored: readonly Tier[],
  uses: readonly TierUse[] | undefined,
): TierRow[] {
  const keyOf = ({ domain, name }: { domain: string; name: string }): string => JSON.stringify([domain, name])
  const customers = new Map(uses?.map((use) => [use.tier, use.customers]))
  // A tier that the server does not list has no customers, unless the list is as long as it gets.
  const unlisted = uses === undefined || uses.length >= MOST ? undefined : 0
  const kept = new Map(stored.map((tier) => [keyOf(tier), tier]))
  const used = new Map(inForce.map((tier) => [keyOf(tier), tier]))
  return [...inForce, ...stored.filter((tier) => !used.has(keyOf(tier)))].map((tier) => {
    const found = used.get(keyOf(tier))
    return {
      domain: tier.domain,
      name: tier.name,
      limits: found === undefined ? [] : plainLimits(found),
      stored: kept.get(keyOf(tier)),
      inForce: found,
      customers: customers.get(tier.name) ?? unlisted,
    }
  })
}

/** readTiers reads everything about tiers. Without a database there are only the tiers of rule files. */
export async function readTiers(signal: AbortSignal): Promise<readonly TierRow[]> {
  const [{ body: inForce }, stored, customers] = await Promise.all([
    ask('listTiersInForce', { signal }),
    ask('listTiers', { query: { page_size: MOST }, signal }).then(
      ({ body }) => body.items,
      () => [],
    ),
    // The server counts: the same numbers as on Now.
    ask('readUsageByTier', { query: { period: '1h' }, signal }).then(
      ({ body }) => body.tiers,
      () => undefined,
    ),
  ])
  return rowsOf(inForce.tiers, stored, customers)
}
