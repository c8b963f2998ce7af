import type { Refusal } from '../../../api/operations.ts'

const WORDS: Readonly<Record<string, string>> = {
  over_limit: 'Over the limit',
  cost_above_limit: 'It costs more than the whole limit',
  store_unavailable_closed: 'Redis was unavailable, and the rule refuses then',
  store_unavailable_local: 'Redis was unavailable, and the share of this node was used up',
  ledger_short: 'The ledger has too little',
  ledger_customer_unknown: 'No customer whom the ledger could bill',
  ledger_unavailable: 'The ledger did not answer',
  blocked: 'Blocked',
}

/** reasonText says why something was refused. */
export function reasonText({ reason, detail }: Pick<Refusal, 'reason' | 'detail'>): string {
  const words = WORDS[reason] ?? reason.replaceAll('_', ' ')
  return detail === null ? words : `${words}: ${detail}`
}
