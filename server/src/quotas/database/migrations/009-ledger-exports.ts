// What is here has run on databases of users: it is never changed. A change is another migration.
export const LEDGER_EXPORTS = `
-- Up to which entry each account is exported. What is on its way is here before it is sent, so that it is sent again as it was.
CREATE TABLE sluice.ledger_exports (
  account_id bigint PRIMARY KEY REFERENCES sluice.ledger_accounts,
  done_entry bigint NOT NULL DEFAULT 0,
  sent_entry bigint,
  sent_value bigint,
  used_at_ms bigint,
  sent_at_ms bigint
);
`
