import { got, SluiceError } from 'sluice/internal/core/errors'
import { plural } from '../app/plural.ts'
import { parseFlags } from '../app/settings/flags.ts'
import { FLAGS_OF_STORE, withStore } from './quotas/open-store.ts'

/** ledger recomputes every balance from the entries. It only reads. */
export async function ledger(args: readonly string[]): Promise<void> {
  const flags = parseFlags('ledger', FLAGS_OF_STORE, args)
  if (flags.rest.join(' ') !== 'verify')
    throw new SluiceError('SUBCOMMAND_INVALID', 'ledger', got(flags.rest.join(' ')))
  await withStore(flags, async (store) => {
    const { ok, accounts, entries, sum, problems } = await store.verifyLedger()
    for (const { customer, meter, problem } of problems) process.stdout.write(`${customer} ${meter}: ${problem}\n`)
    if (!ok) throw new SluiceError('LEDGER_BROKEN', 'ledger', `${plural(problems.length, 'problem')}, a sum of ${sum}`)
    process.stdout.write(
      `the ledger is whole: ${entries === 1 ? '1 entry' : `${entries} entries`} of ${plural(accounts, 'account')}, and all accounts sum to zero\n`,
    )
  })
}
