import { isIPv6 } from 'node:net'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { SettingSources } from '../app/settings/setting-sources.ts'
import { adminAddress } from './admin/admin-address.ts'

const FLAGS = [{ flag: 'admin', value: 'URL' }, { flag: 'live' }] as const

const TIMEOUT_MS = 3_000
/** The body of a probe is one line; another server may send more, which is not read. */
const MAX_REASON = 200

/**
 * Asks a node whether it takes requests, with --live whether it runs, and fails when it does not: a health check for
 * images without a shell. Without --admin it asks the service that this environment sets up.
 */
export async function health(args: readonly string[]): Promise<void> {
  const flags = parseFlags('health', FLAGS, args)
  if (flags.rest.length > 0) throw new SluiceError('FLAG_UNKNOWN', 'health', got(flags.rest[0]))
  const admin = adminAddress(flags.last('admin') ?? ownAdmin(flags))
  const probe = new URL(flags.isOn('live') ? 'livez' : 'readyz', admin)
  const { ok, status, text } = await answerOf(probe, admin)
  if (!ok) throw new SluiceError('NOT_HEALTHY', probe.href, `answered ${status}: ${text.trim().slice(0, MAX_REASON)}`)
  process.stdout.write('ok\n')
}

async function answerOf(probe: URL, admin: URL): Promise<{ ok: boolean; status: number; text: string }> {
  try {
    const response = await fetch(probe, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
    return { ok: response.ok, status: response.status, text: response.ok ? '' : await response.text() }
  } catch (error) {
    const { code, message } = ((error as Error).cause ?? error) as { code?: string; message: string }
    throw new SluiceError('ADMIN_UNREACHABLE', admin.href, `no answer: ${code ?? message}`)
  }
}

/** Returns where the admin port of a service is that has the same variables and the same config file. */
function ownAdmin(flags: Flags): string {
  const from = new SettingSources({ ...flags, has: () => false }, process.env)
  const host = from.value('admin-host')
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${isIPv6(reached) ? `[${reached}]` : reached}:${from.value('admin-port')}`
}
