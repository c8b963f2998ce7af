import type { LedgerDesk } from '../../ledger/ledger-desk.ts'
import { type Offered, partKey } from '../api/parts.ts'

/** LEDGER is the ledger of billed quota. */
export const LEDGER = partKey<Offered<LedgerDesk>>('ledger')
