import { LiveQuotas, type QuotaOrigin } from '../quotas/book/live-quotas.ts'
import type { PassOver } from '../quotas/book/passed-over.ts'
import { hashApiKey } from '../quotas/tables/api-key-hash.ts'
import type { FleetViewsParts } from './admin/fleet-views.ts'
import type { FollowedRules } from './follow-rules.ts'
import type { Log } from './log/log.ts'
import type { NodeQuotas } from './quotas/node-quotas.ts'
import type { Config } from './settings/config.ts'
import type { Undo } from './starting.ts'
import type { NodeUsage } from './usage/open-usage.ts'

/** The database of a node, and what the node does with it apart from decisions. */
export interface NodeData {
  readonly quotas: NodeQuotas
  readonly usage: NodeUsage
}

/** Opens the database of a node, if one is configured. Otherwise none of its code is loaded. */
export async function openData(config: Config, log: Log, undo: Undo): Promise<NodeData | undefined> {
  if (config.database === undefined) return undefined
  const { openNodeQuotas } = await import('./quotas/node-quotas.ts')
  const { openUsage, requireUsagePackages } = await import('./usage/open-usage.ts')
  requireUsagePackages(config)
  const quotas = await openNodeQuotas(config, log)
  if (quotas === undefined) return undefined
  const usage = openUsage({ quotas: quotas.stores, config, log })
  quotas.usageUntilMs = usage.untilMs
  const data = { quotas, usage }
  undo.push(() => closeData(data))
  return data
}

/** What the views of a node with a database need in addition. */
export function viewParts(
  { quotas, usage }: NodeData,
  rules: FollowedRules,
): Pick<FleetViewsParts, 'usageRows' | 'database' | 'audited' | 'audit' | 'caughtUp' | 'compiled'> {
  const { audit, health, db } = quotas.stores
  return {
    usageRows: { db, waiting: usage.waiting, completeUntilMs: () => quotas.fleet.completeUntilMs() },
    audit,
    compiled: (text) => rules.compiled(quotas.rules, text),
    caughtUp: () => quotas.caughtUp(),
    database: () => (health().isUp ? 'up' : 'away'),
    audited: (action, { kind, id }, by) =>
      audit.record(by, async () => {
        const customerId = kind === 'customers' ? id : undefined
        return {
          result: undefined,
          entries: [{ action, target: `${kind}/${id}`, customerId, before: undefined, after: undefined }],
        }
      }),
  }
}

/** Writes what is still pending, and closes. */
export async function closeData(data: NodeData | undefined): Promise<void> {
  await data?.usage.close()
  await data?.quotas.close()
}

/** Makes the book of a process that follows an origin. */
export function liveQuotasOf(
  config: Config,
  origin: QuotaOrigin | undefined,
  passOver?: PassOver,
): LiveQuotas | undefined {
  if (origin === undefined) return undefined
  return new LiveQuotas({
    hash: (key) => hashApiKey(origin.keySecret(), key),
    entries: config.callerEntries,
    passOver,
  })
}
