import { readFile } from 'node:fs/promises'
import { got, SluiceError } from 'sluice/internal/core/errors'
import type { AdminStore, ShownToken } from '../app/quotas/admin-store.ts'
import { firstTokenFileOf } from '../app/settings/database-settings.ts'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { SettingSources } from '../app/settings/setting-sources.ts'
import { choiceOf, durationOf } from '../app/settings/setting-values.ts'
import { FLAGS_OF_STORE, withStore } from './quotas/open-store.ts'

const FLAGS = [
  ...FLAGS_OF_STORE,
  { flag: 'name', value: 'TEXT' },
  { flag: 'role', value: 'ROLE' },
  { flag: 'expires-in', value: 'DURATION' },
] as const

const ROLES = ['viewer', 'operator', 'admin', 'ledger'] as const

/** Makes, lists and revokes tokens of the admin API, and prints the one of the first start. */
export async function token(args: readonly string[]): Promise<void> {
  const flags = parseFlags('token', FLAGS, args)
  const [what, id, ...more] = flags.rest
  const needsId = what === 'revoke'
  if (!['create', 'first', 'list', 'revoke'].includes(what) || needsId !== (id !== undefined) || more.length > 0) {
    throw new SluiceError('SUBCOMMAND_INVALID', 'token', got(flags.rest.join(' ')))
  }
  if (what === 'first') return printFirst(flags)
  const work = async (store: AdminStore) => {
    if (what === 'create') await create(store, flags)
    else if (what === 'list') process.stdout.write(table(await store.listTokens()))
    else await revoke(store, id)
  }
  await withStore(flags, work, { mayCreate: what === 'create' })
}

/** The file is read, not the database: a service that runs has that locked. */
async function printFirst(flags: Flags): Promise<void> {
  const file = firstTokenFileOf(new SettingSources(flags, process.env))
  if (file === undefined)
    throw new SluiceError('FIRST_TOKEN_MISSING', 'token', 'neither --data nor --first-token-file is set')
  process.stdout.write(
    await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new SluiceError('FIRST_TOKEN_MISSING', file, error.code ?? error.message)
    }),
  )
}

async function create(store: AdminStore, flags: Flags): Promise<void> {
  const role = choiceOf({ values: [flags.last('role') ?? 'viewer'], where: '--role', source: 'flag' }, ROLES)
  const lasts = flags.last('expires-in')
  const expiresInMs = lasts && durationOf({ values: [lasts], where: '--expires-in', source: 'flag' })
  const name = flags.last('name') ?? `made by ${process.env.USER || 'sluice'}`
  const expiresAtMs = typeof expiresInMs === 'number' ? Date.now() + expiresInMs : undefined
  const made = await store.createToken({ name, role, expiresAtMs })
  // Alone on standard output, so that a script can take it.
  process.stderr.write(`token ${made.id}, role ${made.role}; it is shown only this once:\n`)
  process.stdout.write(`${made.token}\n`)
}

async function revoke(store: AdminStore, id: string): Promise<void> {
  const revoked = await store.revokeToken(id)
  if (revoked === undefined) throw new SluiceError('RECORD_UNKNOWN', 'tokens', got(id))
  process.stdout.write(`revoked ${revoked.id} (${revoked.name})\n`)
}

function table(tokens: readonly ShownToken[]): string {
  const rows = tokens.map((each) => [
    each.id,
    each.prefix,
    each.role,
    each.revoked_at !== null ? 'revoked' : each.expires_at !== null ? `until ${each.expires_at}` : 'good',
    each.last_used_at ?? 'never used',
    each.name,
  ])
  return `${[['id', 'begins with', 'role', 'state', 'last use', 'name'], ...rows].map((row) => row.join('  ')).join('\n')}\n`
}
