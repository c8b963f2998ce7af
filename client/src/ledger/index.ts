export { createLedgerClient, type LedgerClient, type LedgerClientOptions, LedgerError } from './ledger-client.ts'
export type {
  Balance,
  Booked,
  Hold,
  LedgerAsked,
  LedgerParts,
  LedgerWhose,
  NotPaid,
  Reserved,
} from './ledger-request.ts'
