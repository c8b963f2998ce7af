import { ask } from '../../api/client.ts'
import type { Operations, RuleTree, Tier } from '../../api/operations.ts'
import { type PlainLimit, plainLimits, plainText, tierNode } from './tier-draft.ts'

type RuleNode = RuleTree['domains'][number]['patterns'][number]
type InForce = Operations['listTiersInForce']['answer']['tiers'][number]

/** A TierRow is one tier of one domain. */
export interface TierRow {
  readonly domain: string
  readonly name: string
  readonly limits: readonly PlainLimit[]
  /** The one that stands in place of a file's. */
  readonly stored: Tier | undefined
  /** A rule asks for it. */
  readonly isInForce: boolean
  /** What the rules in force say; undefined where there are too many rules to list. */
  readonly node: RuleNode | undefined
  /** How many customers are on it: 12, 500+, or – where nobody knows. */
  readonly customers: string
}

const MOST = 500

/** rowsOf joins the tiers in force with those that are stored and asked for by no rule. */
export function rowsOf(
  inForce: readonly InForce[],
  stored: readonly Tier[],
  tree: RuleTree,
  customers: ReadonlyMap<string, string>,
): TierRow[] {
  const isOf = (a: { domain: string; name: string }) => (b: { domain: string; name: string }) =>
    a.domain === b.domain && a.name === b.name
  const rows = inForce.map((tier) => {
    const node = tierNode(tree, tier.domain, tier.name)
    const plain = tier.limits.map(({ name, described }) => ({ of: '', name, text: plainText(described) }))
    const limits = node === undefined ? plain : plainLimits(node)
    return { domain: tier.domain, name: tier.name, limits, stored: stored.find(isOf(tier)), isInForce: true, node }
  })
  const unused = stored
    .filter((tier) => !inForce.some(isOf(tier)))
    .map((tier) => ({ ...tier, limits: [], stored: tier, isInForce: false, node: undefined }))
  return [...rows, ...unused].map(({ domain, name, limits, stored: kept, isInForce, node }) => {
    return { domain, name, limits, stored: kept, isInForce, node, customers: customers.get(name) ?? '–' }
  })
}

/** readTiers reads everything about tiers. Without a database there are those of rule files alone. */
export async function readTiers(signal: AbortSignal): Promise<readonly TierRow[]> {
  const [{ body: inForce }, { body: tree }, stored] = await Promise.all([
    ask('listTiersInForce', { signal }),
    ask('readRuleTree', { signal }),
    ask('listTiers', { query: { page_size: MOST }, signal }).then(
      ({ body }) => body.items,
      () => [],
    ),
  ])
  const names = new Set([...inForce.tiers, ...stored].map(({ name }) => name))
  const customers = await Promise.all([...names].map(async (name) => [name, await countOf(name, signal)] as const))
  return rowsOf(inForce.tiers, stored, tree, new Map(customers))
}

async function countOf(tier: string, signal: AbortSignal): Promise<string> {
  try {
    const { body } = await ask('listCustomers', { query: { tier, page_size: MOST }, signal })
    return body.next_cursor === null ? String(body.items.length) : `${MOST}+`
  } catch {
    return '–'
  }
}
