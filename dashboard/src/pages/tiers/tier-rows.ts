import { ask } from '../../api/client.ts'
import type { Operations, Tier } from '../../api/operations.ts'
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
  /** How many customers are on it: 12, 500+, or – where nobody knows. */
  readonly customers: string
}

const MOST = 500

/** rowsOf joins the tiers in force with those that are stored and have no effect. */
export function rowsOf(
  inForce: readonly TierInForce[],
  stored: readonly Tier[],
  customers: ReadonlyMap<string, string>,
): TierRow[] {
  const keyOf = ({ domain, name }: { domain: string; name: string }): string => JSON.stringify([domain, name])
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
      customers: customers.get(tier.name) ?? '–',
    }
  })
}

/** readTiers reads everything about tiers. Without a database there are those of rule files alone. */
export async function readTiers(signal: AbortSignal): Promise<readonly TierRow[]> {
  const [{ body: inForce }, stored] = await Promise.all([
    ask('listTiersInForce', { signal }),
    ask('listTiers', { query: { page_size: MOST }, signal }).then(
      ({ body }) => body.items,
      () => [],
    ),
  ])
  const names = new Set([...inForce.tiers, ...stored].map(({ name }) => name))
  const customers = await Promise.all([...names].map(async (name) => [name, await countOf(name, signal)] as const))
  return rowsOf(inForce.tiers, stored, new Map(customers))
}

async function countOf(tier: string, signal: AbortSignal): Promise<string> {
  try {
    const { body } = await ask('listCustomers', { query: { tier, page_size: MOST }, signal })
    return body.next_cursor === null ? String(body.items.length) : `${MOST}+`
  } catch {
    return '–'
  }
}
