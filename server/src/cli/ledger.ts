import { got, SluiceError } from 'sluice/internal/core/errors'
import { plural } from '../app/plural.ts'
import type { AdminStore } from '../app/quotas/admin-store.ts'
import { parseFlags } from '../app/settings/flags.ts'
import { FLAGS_OF_STORE, withStore } from './quotas/open-store.ts'

const COMMANDS: Readonly<Record<string, (store: AdminStore) => Promise<void>>> = { verify, reconcile }

/** ledger verifies the ledger, or compares it with usage. It only reads. */
export async function ledger(args: readonly string[]): Promise<void> {
  const flags = parseFlags('ledger', FLAGS_OF_STORE, args)
  const name = flags.rest.join(' ')
  if (!Object.hasOwn(COMMANDS, name)) throw new SluiceError('SUBCOMMAND_INVALID', 'ledger', got(name))
  await withStore(flags, COMMANDS[name])
}

/** verify recomputes every balance from the entries. */
async function verify(store: AdminStore): Promise<void> {
  const { ok, accounts, entries, sum, problems } = await store.verifyLedger()
  for (const { customer, meter, problem } of problems) process.stdout.write(`${customer} ${meter}: ${problem}\n`)
  if (!ok) throw new SluiceError('LEDGER_BROKEN', 'ledger', `${plural(problems.length, 'problem')}, a sum of ${sum}`)
  process.stdout.write(
    `the ledger is whole: ${entries === 1 ? '1 entry' : `${entries} entries`} of ${plural(accounts, 'account')}, and all accounts sum to zero\n`,
  )
}

/** reconcile compares what the ledger booked for rules with their usage. */
async function reconcile(store: AdminStore): Promise<void> {
  const { periods, meters, drifts } = await store.reconcileLedger()
  for (const { customer, meter, start, end, booked, usage, drift } of drifts) {
    process.stdout.write(`${customer} ${meter} ${start} to ${end}: booked ${booked}, used ${usage}, drift ${drift}\n`)
  }
  const sums = meters.map(({ meter, drift }) => `${meter} ${drift}`).join(', ')
  process.stdout.write(
    `${plural(periods, 'period')} compared; drift by meter: ${sums === '' ? 'no rule has one' : sums}\n`,
  )
}
