import { newToken } from '../../edge/admin/access/admin-tokens.ts'
import { tokenJson } from '../../edge/admin/api/token-forms.ts'
import { entryJson } from '../../edge/admin/operations/audit.ts'
import { openQuotas, type Quotas } from '../../quotas/open/open-quotas.ts'
import type { Actor, Role } from '../../quotas/ports.ts'
import { databaseOf, dataDirOf } from '../settings/database-settings.ts'
import type { Flags } from '../settings/flags.ts'
import { SettingSources } from '../settings/setting-sources.ts'
import { SETTINGS } from '../settings/settings.ts'

/** DESK_FLAGS are the flags that say where a database is. They mean what they mean to serve. */
export const DESK_FLAGS = SETTINGS.filter(({ flag }) =>
  ['database', 'data', 'first-token-file', 'secret', 'config'].includes(flag),
)

/** A ShownToken is a token as the admin API shows it. */
export type ShownToken = ReturnType<typeof tokenJson>
export type ShownEntry = ReturnType<typeof entryJson>

/** A QuotaDesk is what commands do with tokens and the audit log: in a database, or through a service that runs. */
export interface QuotaDesk {
  createToken(options: NewTokenOptions): Promise<ShownToken & { readonly token: string }>
  listTokens(): Promise<readonly ShownToken[]>
  /** revokeToken returns undefined where there is no token of that id. */
  revokeToken(id: string): Promise<ShownToken | undefined>
  /** audit returns a page, the newest first. */
  audit(query: DeskAuditQuery): Promise<{ readonly items: readonly ShownEntry[]; readonly next: string | undefined }>
  verifyAudit(): Promise<DeskVerification>
  close(): Promise<void>
}

export interface NewTokenOptions {
  readonly name: string
  readonly role: Role
  readonly expiresAtMs: number | undefined
}

export interface DeskAuditQuery {
  readonly customerId: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

export interface DeskVerification {
  readonly entries: number
  /** What outside of the database the end was compared with. */
  readonly anchors: readonly string[]
  readonly problems: readonly { readonly sequence: number; readonly what: string }[]
}

/** openDirectDesk opens the database that a command line names; undefined where it names none. */
export async function openDirectDesk(flags: Flags, env: NodeJS.ProcessEnv): Promise<QuotaDesk | undefined> {
  const from = new SettingSources(flags, env)
  const place = databaseOf(from)
  if (place === undefined) return undefined
  return directDesk(await openQuotas(place, { secret: from.value('secret'), dataDir: dataDirOf(from) }))
}

const BY: Actor = { id: 'cli', name: 'sluice', address: undefined, reason: undefined }

function directDesk(quotas: Quotas): QuotaDesk {
  const { tokens, audit } = quotas
  return {
    async createToken(options) {
      const { token, kept } = newToken(options, Date.now())
      return { ...tokenJson(await tokens.create(kept, BY)), token }
    },
    listTokens: async () => (await tokens.list()).map(tokenJson),
    async revokeToken(id) {
      const revoked = await tokens.revoke(id, BY)
      return revoked && tokenJson(revoked)
    },
    async audit(query) {
      const { items, next } = await audit.list(query)
      return { items: items.map(entryJson), next }
    },
    verifyAudit: () => quotas.verifyAudit(),
    close: () => quotas.close(),
  }
}
