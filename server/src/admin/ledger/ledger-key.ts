import type { LedgerService } from '../../ledger/ledger-service.ts'
import { type Offered, partKey } from '../api/parts.ts'

/** LEDGER is the ledger of billed quota. */
export const LEDGER = partKey<Offered<LedgerService>>('ledger')
