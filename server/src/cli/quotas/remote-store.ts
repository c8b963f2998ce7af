import { SluiceError } from 'sluice/internal/core/errors'
import type {
  AdminStore,
  ReconciledLedger,
  ShownEntry,
  ShownToken,
  VerifiedAudit,
  VerifiedLedger,
} from '../../app/quotas/admin-store.ts'

const TIMEOUT_MS = 60_000

/** Asks a service that runs, through its admin API. */
export function remoteStore(admin: URL, token: string | undefined): AdminStore {
  const ask = asker(admin, token)
  return {
    async createToken({ name, role, expiresAtMs }) {
      const expires_at = expiresAtMs === undefined ? null : new Date(expiresAtMs).toISOString()
      const body = JSON.stringify({ name, role, expires_at })
      return (await ask('POST', 'tokens', body)) as ShownToken & { token: string }
    },
    listTokens: async () => ((await ask('GET', 'tokens')) as { tokens: ShownToken[] }).tokens,
    revokeToken: async (id) =>
      (await ask('DELETE', `tokens/${encodeURIComponent(id)}`, undefined, 'RECORD_UNKNOWN')) as ShownToken | undefined,
    async audit({ customerId, after, limit }) {
      const query = new URLSearchParams({ page_size: String(limit) })
      if (customerId !== undefined) query.set('customer_id', customerId)
      if (after !== undefined) query.set('cursor', after)
      const page = (await ask('GET', `audit?${query}`)) as { items: ShownEntry[]; next_cursor: string | null }
      return { items: page.items, next: page.next_cursor ?? undefined }
    },
    async verifyAudit() {
      const { entries, broken, anchors, unread } = (await ask('GET', 'audit/verify')) as Verified
      return {
        entries,
        anchors,
        unread,
        problems: broken === null ? [] : [{ sequence: broken.sequence, what: broken.reason }],
      }
    },
    verifyLedger: async () => (await ask('GET', 'ledger/verify')) as VerifiedLedger,
    reconcileLedger: async () => (await ask('GET', 'ledger/reconcile')) as ReconciledLedger,
    exportLedger: async () => {
      throw new SluiceError('LEDGER_EXPORT_INVALID', 'ledger', 'a service was named, and no database')
    },
    close: async () => {},
  }
}

interface Verified {
  readonly entries: number
  readonly anchors: readonly string[]
  readonly unread: VerifiedAudit['unread']
  readonly broken: { readonly sequence: number; readonly reason: string } | null
}

/** Returns a function that sends a request, and returns the answer; undefined for the code `unless`. */
function asker(admin: URL, token: string | undefined) {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    'content-type': 'application/json',
  }
  return async (method: string, path: string, body?: string, unless?: string): Promise<unknown> => {
    // A token is for this address alone.
    const options = { method, headers, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) } as const
    const url = new URL(`admin/v1/${path}`, admin)
    const response = await fetch(url, body === undefined ? options : { ...options, body }).catch((error: Error) => {
      const { code, message } = (error.cause ?? error) as { code?: string; message: string }
      throw new SluiceError('ADMIN_UNREACHABLE', admin.href, `no answer: ${code ?? message}`)
    })
    const answer = (await response.json().catch(() => ({}))) as { code?: string; detail?: string }
    if (response.ok) return answer
    if (unless !== undefined && answer.code === unless) return undefined
    throw new SluiceError('ADMIN_UNREACHABLE', admin.href, `answered ${response.status} ${answer.detail ?? ''}`.trim())
  }
}
