import { SluiceError } from 'sluice/internal/core/errors'
import { newToken } from '../../admin/access/admin-tokens.ts'
import { entryJson } from '../../admin/audit/operations.ts'
import type { Role } from '../../admin/tokens/table.ts'
import { type AdminToken, tokens as table } from '../../admin/tokens/table.ts'
import { type ExportReport, exportToStripe, type StripeOptions } from '../../ledger/export/stripe-export.ts'
import { verifyLedger } from '../../ledger/verify-ledger.ts'
import type { Actor } from '../../quotas/audit/actor.ts'
import { openQuotas, type Quotas } from '../../quotas/open/open-quotas.ts'
import { keyPrefixOf, redisTlsOf } from '../settings/counter-settings.ts'
import { databaseOf, dataDirOf } from '../settings/database-settings.ts'
import type { Flags } from '../settings/flags.ts'
import { auditFileOf } from '../settings/log-settings.ts'
import { redisUrlOf } from '../settings/redis-settings.ts'
import { SettingSources } from '../settings/setting-sources.ts'
import { lastOf } from '../settings/setting-values.ts'
import { SETTINGS } from '../settings/settings.ts'
import { type AnchorConfig, anchorsOf } from './audit-anchors.ts'

const OF_DATABASE = ['database', 'data', 'first-token-file', 'secret', 'config']
/** The places that keep the end of the audit log, too. */
const OF_ANCHORS = ['redis', 'redis-ca', 'redis-cert', 'redis-key', 'key-prefix', 'audit-file']

/** The flags that say where a database is. They mean the same as for `serve`. */
export const STORE_FLAGS = SETTINGS.filter(({ flag }) => [...OF_DATABASE, ...OF_ANCHORS].includes(flag))

/** A token as the admin API shows it. */
export type ShownToken = Readonly<
  Record<'id' | 'name' | 'role' | 'prefix' | 'created_at', string> &
    Record<'expires_at' | 'revoked_at' | 'last_used_at', string | null>
>
export type ShownEntry = ReturnType<typeof entryJson>

/** An AdminStore is what commands do with tokens and the audit log: in a database, or through a service that runs. */
export interface AdminStore {
  createToken(options: NewTokenOptions): Promise<ShownToken & { readonly token: string }>
  listTokens(): Promise<readonly ShownToken[]>
  /** Returns undefined where there is no token of that id. */
  revokeToken(id: string): Promise<ShownToken | undefined>
  /** Returns a page of entries, the newest first. */
  audit(query: AuditPageQuery): Promise<{ readonly items: readonly ShownEntry[]; readonly next: string | undefined }>
  verifyAudit(): Promise<VerifiedAudit>
  verifyLedger(): Promise<VerifiedLedger>
  reconcileLedger(): Promise<ReconciledLedger>
  exportLedger(options: StripeOptions): Promise<ExportReport>
  close(): Promise<void>
}

export interface NewTokenOptions {
  readonly name: string
  readonly role: Role
  readonly expiresAtMs: number | undefined
}

export interface AuditPageQuery {
  readonly customerId: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

export interface VerifiedAudit {
  readonly entries: number
  /** What outside of the database the end was compared with. */
  readonly anchors: readonly string[]
  /** Anchors with which it was not compared, and why. */
  readonly unread: readonly { readonly anchor: string; readonly reason: string }[]
  readonly problems: readonly { readonly sequence: number; readonly what: string }[]
}

/** A VerifiedLedger is what `GET /admin/v1/ledger/verify` answers. */
export interface VerifiedLedger {
  readonly ok: boolean
  readonly accounts: number
  readonly entries: number
  readonly sum: number
  readonly problems: readonly { readonly customer: string; readonly meter: string; readonly problem: string }[]
}

/** A ReconciledLedger is what `GET /admin/v1/ledger/reconcile` answers. */
export interface ReconciledLedger {
  readonly periods: number
  readonly meters: readonly { readonly meter: string; readonly drift: number }[]
  readonly drifts: readonly Readonly<
    Record<'customer' | 'meter' | 'start' | 'end', string> & Record<'booked' | 'usage' | 'drift', number>
  >[]
}

/**
 * Opens the database that a command line names; undefined where it names none. One that no node has used is an error,
 * unless `mayCreate`: reading it must not create it, with another secret than that of the nodes.
 */
export async function openDirectStore(
  flags: Flags,
  env: NodeJS.ProcessEnv,
  mayCreate: boolean,
): Promise<AdminStore | undefined> {
  const from = new SettingSources(flags, env)
  const place = databaseOf(from)
  if (place === undefined) return undefined
  const options = {
    secret: from.value('secret'),
    dataDir: dataDirOf(from),
    anchors: anchorsOf(anchorConfigOf(from, env)),
    isThere: !mayCreate,
  }
  return directStore(await openQuotas(place, options))
}

function anchorConfigOf(from: SettingSources, env: NodeJS.ProcessEnv): AnchorConfig {
  const redis = from.given('redis')
  return {
    redisUrl: redis && redisUrlOf(lastOf(redis), redis.where, env),
    keyPrefix: keyPrefixOf(from),
    redisTls: redisTlsOf(from, env),
    redisSentinelAuth: env.REDIS_SENTINEL_AUTH || undefined,
    auditFile: auditFileOf(from),
  }
}

const BY: Actor = { id: 'cli', name: 'sluice', address: undefined, reason: undefined }

const shown = (token: AdminToken): ShownToken => table.toJson(token) as ShownToken

function directStore(quotas: Quotas): AdminStore {
  const { tokens, audit } = quotas
  return {
    async createToken(options) {
      const { token, kept } = newToken(options, Date.now())
      return { ...shown(await tokens.create(kept, BY)), token }
    },
    listTokens: async () => (await tokens.list()).map(shown),
    async revokeToken(id) {
      const revoked = await tokens.revoke(id, BY)
      return revoked && shown(revoked)
    },
    async audit(query) {
      const { items, next } = await audit.list(query)
      return { items: items.map(entryJson), next }
    },
    verifyAudit: () => quotas.verifyAudit(),
    async verifyLedger() {
      const { problems, ...report } = await verifyLedger(quotas.db)
      const shown = problems.map(({ customerId, meterId, problem }) => ({
        customer: customerId,
        meter: meterId,
        problem,
      }))
      return { ...report, problems: shown }
    },
    reconcileLedger: async () => {
      throw new SluiceError('LEDGER_RULES_UNKNOWN', 'ledger', 'a database was named, and no service')
    },
    exportLedger: (options) => exportToStripe(quotas.db, options),
    close: () => quotas.close(),
  }
}
