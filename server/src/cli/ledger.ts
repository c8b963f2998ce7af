import { got, SluiceError } from 'sluice/internal/core/errors'
import { plural } from '../app/plural.ts'
import type { AdminStore } from '../app/quotas/admin-store.ts'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { FLAGS_OF_STORE, withStore } from './quotas/open-store.ts'

const FLAGS = [...FLAGS_OF_STORE, { flag: 'meter', value: 'METER=EVENT' }, { flag: 'stripe', value: 'URL' }] as const

const COMMANDS: Readonly<Record<string, (store: AdminStore) => Promise<void>>> = { verify, reconcile }

/** ledger verifies the ledger, compares it with usage, or exports what was used. */
export async function ledger(args: readonly string[]): Promise<void> {
  const flags = parseFlags('ledger', FLAGS, args)
  const name = flags.rest.join(' ')
  if (name === 'export') return withStore(flags, (store) => exportTo(store, flags))
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

/** exportTo sends what was used to Stripe, and continues where the last export ended. */
async function exportTo(store: AdminStore, flags: Flags): Promise<void> {
  const key = process.env.SLUICE_STRIPE_KEY
  if (key === undefined || key === '') throw exportInvalid('SLUICE_STRIPE_KEY is not set')
  const given = flags.all('meter')
  const eventNames = new Map(given.map(eventNameOf))
  if (eventNames.size === 0) throw exportInvalid('no --meter is given')
  const url = flags.last('stripe')
  const { events, values, problems } = await store.exportLedger({ key, eventNames, ...(url !== undefined && { url }) })
  for (const { customerId, meterId, problem } of problems)
    process.stdout.write(`${customerId} ${meterId}: ${problem}\n`)
  const sums = [...values].map(([meter, value]) => `${meter} ${value}`).join(', ')
  process.stdout.write(`${plural(events, 'event')} sent${sums === '' ? '' : `: ${sums}`}\n`)
  if (problems.length > 0) {
    throw new SluiceError('LEDGER_EXPORT_INCOMPLETE', 'ledger', plural(problems.length, 'account'))
  }
}

function eventNameOf(text: string): [meter: string, event: string] {
  const [meter, event, ...rest] = text.split('=')
  if (meter !== '' && event !== undefined && event !== '' && rest.length === 0) return [meter, event]
  throw exportInvalid(`--meter: ${got(text)}`)
}

const exportInvalid = (detail: string): SluiceError => new SluiceError('LEDGER_EXPORT_INVALID', 'ledger', detail)
