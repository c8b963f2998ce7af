// What is here has run on databases of users: it is never changed. A change is another migration.
export const LEDGER_OUTAGE = `
ALTER TABLE sluice.meters ADD COLUMN when_unavailable text NOT NULL DEFAULT 'closed'
  CHECK (when_unavailable IN ('closed', 'buffer', 'open'));
`
