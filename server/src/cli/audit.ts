import { got, SluiceError } from 'sluice/internal/core/errors'
import { plural } from '../app/plural.ts'
import type { AdminStore, ShownEntry } from '../app/quotas/admin-store.ts'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { FLAGS_OF_STORE, withStore } from './quotas/open-store.ts'

const FLAGS = [...FLAGS_OF_STORE, { flag: 'customer', value: 'ID' }, { flag: 'limit', value: 'N' }] as const

const DEFAULT_LIMIT = 20
const PAGE = 500
const NO_ANCHOR =
  'warning: its end was compared with nothing outside of the database, so an older copy of the whole log would look whole too. A service with --redis keeps the end of the log in Redis, and one with --data DIR in a file: give the same here.\n'

/** audit checks, lists and exports the log of all changes. */
export async function audit(args: readonly string[]): Promise<void> {
  const flags = parseFlags('audit', FLAGS, args)
  const [what, ...more] = flags.rest
  if (!['verify', 'list', 'export'].includes(what) || more.length > 0) {
    throw new SluiceError('SUBCOMMAND_INVALID', 'audit', got(flags.rest.join(' ')))
  }
  await withStore(flags, async (store) => {
    if (what === 'verify') await verify(store)
    else await print(store, flags, what === 'list' ? lineOf : jsonOf, limitOf(flags, what))
  })
}

async function verify(store: AdminStore): Promise<void> {
  const { entries, problems, anchors, unread } = await store.verifyAudit()
  for (const { anchor, reason } of unread) {
    process.stderr.write(`warning: the log was not compared with ${anchor}: ${reason}\n`)
  }
  if (problems.length === 0) {
    const compared =
      anchors.length === 0 ? '' : `, as ${anchors.join(' and ')} ${anchors.length === 1 ? 'says' : 'say'}`
    process.stdout.write(`the audit log is whole: ${entries === 1 ? '1 entry' : `${entries} entries`}${compared}\n`)
    if (anchors.length === 0) process.stderr.write(NO_ANCHOR)
    return
  }
  for (const { sequence, what } of problems) process.stdout.write(`entry ${sequence}: ${what}\n`)
  throw new SluiceError('AUDIT_BROKEN', 'audit', plural(problems.length, 'problem'))
}

async function print(
  store: AdminStore,
  flags: Flags,
  format: (entry: ShownEntry) => string,
  limit: number,
): Promise<void> {
  let left = limit
  let after: string | undefined
  do {
    const page = await store.audit({ customerId: flags.last('customer'), after, limit: Math.min(PAGE, left) })
    process.stdout.write(page.items.map((entry) => `${format(entry)}\n`).join(''))
    left -= page.items.length
    after = page.next
  } while (after !== undefined && left > 0)
}

function limitOf(flags: Flags, what: string): number {
  const given = flags.last('limit')
  if (given === undefined) return what === 'list' ? DEFAULT_LIMIT : Number.POSITIVE_INFINITY
  const limit = Number(given)
  if (!Number.isSafeInteger(limit) || limit < 1) throw new SluiceError('COUNT_INVALID', '--limit', got(given))
  return limit
}

const jsonOf = (entry: ShownEntry): string => JSON.stringify(entry)

function lineOf({ sequence, at, actor, action, target, reason }: ShownEntry): string {
  return [sequence, at, actor.name, action, target.id, reason ?? ''].join('  ').trimEnd()
}
