import type { Database, Sql } from '../quotas/database/database.ts'

/** A LedgerProblem is something that the entries of an account do not say. */
export interface LedgerProblem {
  readonly customerId: string
  readonly meterId: string
  readonly problem: string
}

export interface LedgerReport {
  readonly ok: boolean
  readonly accounts: number
  readonly entries: number
  /**
   * The sum over all accounts, those from which issues come and into which uses go included. Zero, or something is
   * wrong.
   */
  readonly sum: number
  readonly problems: readonly LedgerProblem[]
}

const MOST_PROBLEMS = 100
const TEN_MINUTES_MS = 600_000

/** The sign with which an entry changes the lot that it names, and the totals of its period. */
const TO_LOT = `CASE WHEN kind IN ('issue', 'carry_in', 'return') THEN amount
  WHEN kind IN ('use', 'lapse', 'carry_out', 'repay') THEN -amount ELSE 0 END`
const SUMS = `
  sum(CASE WHEN kind = 'issue' THEN amount ELSE 0 END) AS issued,
  sum(CASE WHEN kind = 'carry_in' THEN amount WHEN kind = 'carry_out' THEN -amount ELSE 0 END) AS carried,
  sum(CASE WHEN kind = 'use' THEN amount WHEN kind = 'return' THEN -amount ELSE 0 END) AS used,
  sum(CASE WHEN kind = 'lapse' THEN amount ELSE 0 END) AS lapsed,
  sum(CASE WHEN lot <> -1 THEN 0 WHEN kind = 'use' THEN amount WHEN kind = 'return' THEN -amount ELSE 0 END) AS unpaid`
const PERIODS = `periods AS (
  SELECT account_id, start_ms, opening, issued, carried, used, lapsed, unpaid FROM sluice.ledger_periods
  UNION ALL SELECT id, period_start_ms, opening, issued, carried, used, lapsed, unpaid FROM sluice.ledger_accounts
  WHERE period_start_ms IS NOT NULL)`
const CLOSING = 'opening + issued + carried + unpaid - used - lapsed'

/** Each check is a query of the accounts that fail it: their ids, and the problem in words. */
const CHECKS: readonly string[] = [
  `SELECT a.id, format('%s entries, the last of them number %s, and the account says %s', count(e.number), coalesce(max(e.number), 0), a.last_entry) AS problem
   FROM sluice.ledger_accounts a LEFT JOIN sluice.ledger_entries e ON e.account_id = a.id
   GROUP BY a.id HAVING count(e.number) <> a.last_entry OR coalesce(max(e.number), 0) <> a.last_entry`,
  `WITH folded AS (SELECT account_id, lot, sum(${TO_LOT}) AS remaining FROM sluice.ledger_entries WHERE lot > 0 GROUP BY 1, 2)
   SELECT coalesce(l.account_id, f.account_id) AS id,
     format('lot %s has %s left, and its entries say %s', coalesce(l.number, f.lot), coalesce(l.remaining, 0), coalesce(f.remaining, 0)) AS problem
   FROM sluice.ledger_lots l FULL JOIN folded f ON f.account_id = l.account_id AND f.lot = l.number
   WHERE coalesce(l.remaining, 0) <> coalesce(f.remaining, 0)`,
  `WITH folded AS (SELECT account_id, sum(CASE WHEN kind = 'repay' THEN -amount WHEN lot <> 0 THEN 0 WHEN kind = 'use' THEN amount WHEN kind = 'return' THEN -amount ELSE 0 END) AS debt
     FROM sluice.ledger_entries GROUP BY 1)
   SELECT a.id, format('a debt of %s, and its entries say %s', a.debt, coalesce(f.debt, 0)) AS problem
   FROM sluice.ledger_accounts a LEFT JOIN folded f ON f.account_id = a.id WHERE a.debt <> coalesce(f.debt, 0)`,
  `WITH lots AS (SELECT account_id, sum(remaining) AS remaining FROM sluice.ledger_lots GROUP BY 1)
   SELECT a.id, format('a balance of %s, and its lots have %s', a.balance, coalesce(l.remaining, 0)) AS problem
   FROM sluice.ledger_accounts a LEFT JOIN lots l ON l.account_id = a.id WHERE a.balance <> coalesce(l.remaining, 0)`,
  `WITH claims AS (SELECT h.account_id, c.lot, sum(c.amount) AS held FROM sluice.ledger_holds h, unnest(h.lots, h.amounts) AS c (lot, amount) GROUP BY 1, 2),
     stored AS (SELECT account_id, number AS lot, held FROM sluice.ledger_lots UNION ALL SELECT id, 0, debt_held FROM sluice.ledger_accounts)
   SELECT coalesce(s.account_id, c.account_id) AS id,
     format('%s held of lot %s, and open holds say %s', coalesce(s.held, 0), coalesce(s.lot, c.lot), coalesce(c.held, 0)) AS problem
   FROM stored s FULL JOIN claims c ON c.account_id = s.account_id AND c.lot = s.lot WHERE coalesce(s.held, 0) <> coalesce(c.held, 0)`,
  `WITH ${PERIODS}, folded AS (SELECT account_id, period_ms, ${SUMS} FROM sluice.ledger_entries GROUP BY 1, 2)
   SELECT coalesce(p.account_id, f.account_id) AS id,
     format('the totals of the period of %s are not those of its entries', to_timestamp(coalesce(p.start_ms, f.period_ms) / 1000)) AS problem
   FROM periods p FULL JOIN folded f ON f.account_id = p.account_id AND f.period_ms = p.start_ms
   WHERE p.start_ms IS NULL OR (p.issued, p.carried, p.used, p.lapsed, p.unpaid) IS DISTINCT FROM
     (coalesce(f.issued, 0), coalesce(f.carried, 0), coalesce(f.used, 0), coalesce(f.lapsed, 0), coalesce(f.unpaid, 0))`,
  `WITH ${PERIODS}, chained AS (SELECT account_id, start_ms, opening, lag(${CLOSING}, 1, 0) OVER (PARTITION BY account_id ORDER BY start_ms) AS before FROM periods)
   SELECT account_id AS id, format('the period of %s begins with %s, and the one before ended with %s', to_timestamp(start_ms / 1000), opening, before) AS problem
   FROM chained WHERE opening <> before`,
]

const SUM = `WITH ${PERIODS}, flows AS (SELECT coalesce(sum(used + lapsed - issued - carried - unpaid), 0) AS sum FROM periods)
  SELECT ((SELECT sum FROM flows) + coalesce(sum(balance - debt), 0))::int8 AS sum, count(*) AS accounts,
    (SELECT count(*) FROM sluice.ledger_entries) AS entries FROM sluice.ledger_accounts`

/**
 * Recomputes every balance, hold, debt and period from the entries, at one moment, while the ledger goes on. It only
 * reads. It looks at all accounts, so its time and memory in the database grow with the number of entries.
 */
export function verifyLedger(db: Database): Promise<LedgerReport> {
  return db.transaction(
    async (tx) => {
      const problems: LedgerProblem[] = []
      for (const check of CHECKS) problems.push(...(await failing(tx, check)))
      const [{ sum, accounts, entries }] = await tx.query<{ sum: number; accounts: number; entries: number }>(SUM)
      return { ok: problems.length === 0 && sum === 0, accounts, entries, sum, problems }
    },
    { snapshot: true, statementTimeoutMs: TEN_MINUTES_MS },
  )
}

async function failing(tx: Sql, check: string): Promise<readonly LedgerProblem[]> {
  const rows = await tx.query<{ customer_id: string; meter_id: string; problem: string }>(
    `SELECT coalesce(a.customer_id, '') AS customer_id, coalesce(a.meter_id, '') AS meter_id, failed.problem
     FROM (${check}) AS failed LEFT JOIN sluice.ledger_accounts a ON a.id = failed.id ORDER BY a.id LIMIT ${MOST_PROBLEMS}`,
  )
  return rows.map(({ customer_id, meter_id, problem }) => ({ customerId: customer_id, meterId: meter_id, problem }))
}
