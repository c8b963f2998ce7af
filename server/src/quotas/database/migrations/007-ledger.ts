// What is here has run on databases of users: it is never changed. A change is another migration.
export const LEDGER = `
CREATE TABLE sluice.meters (
  id text COLLATE "C" PRIMARY KEY,
  unit text NOT NULL,
  period text NOT NULL CHECK (period IN ('day', 'week', 'month', 'year')),
  allowance bigint NOT NULL CHECK (allowance >= 0),
  allowances jsonb NOT NULL,
  carry_most bigint NOT NULL CHECK (carry_most >= 0),
  carry_periods bigint NOT NULL CHECK (carry_periods BETWEEN 1 AND 12),
  grace_seconds bigint NOT NULL CHECK (grace_seconds >= 0),
  overdraft bigint NOT NULL CHECK (overdraft >= 0),
  hold_seconds bigint NOT NULL CHECK (hold_seconds > 0),
  refusal_status bigint NOT NULL CHECK (refusal_status IN (402, 429)),
  version bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

-- One customer and one meter. Who changes anything of an account holds its row until the commit. It outlives the customer and the meter.
-- The last check is the double entry: what there is, less the debt, is what there was and came, less what went.
CREATE TABLE sluice.ledger_accounts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer_id text COLLATE "C" NOT NULL,
  meter_id text COLLATE "C" NOT NULL,
  period_start_ms bigint,
  period_end_ms bigint,
  opening bigint NOT NULL DEFAULT 0,
  issued bigint NOT NULL DEFAULT 0,
  carried bigint NOT NULL DEFAULT 0,
  used bigint NOT NULL DEFAULT 0,
  lapsed bigint NOT NULL DEFAULT 0,
  unpaid bigint NOT NULL DEFAULT 0,
  balance bigint NOT NULL DEFAULT 0,
  debt bigint NOT NULL DEFAULT 0,
  debt_held bigint NOT NULL DEFAULT 0,
  last_entry bigint NOT NULL DEFAULT 0,
  last_lot bigint NOT NULL DEFAULT 0,
  allowance_lot bigint NOT NULL DEFAULT 0,
  had bigint NOT NULL DEFAULT 0,
  UNIQUE (customer_id, meter_id),
  CONSTRAINT ledger_never_negative CHECK (balance >= 0 AND debt >= 0 AND debt_held >= 0),
  CONSTRAINT ledger_sums_to_zero CHECK (balance - debt = opening + issued + carried + unpaid - used - lapsed)
) WITH (fillfactor = 50);
CREATE INDEX ledger_accounts_meter ON sluice.ledger_accounts (meter_id, customer_id);

CREATE TABLE sluice.ledger_lots (
  account_id bigint NOT NULL REFERENCES sluice.ledger_accounts,
  number bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('allowance', 'carried', 'grant', 'credit')),
  priority bigint NOT NULL,
  effective_at_ms bigint NOT NULL,
  expires_at_ms bigint,
  lapses_at_ms bigint,
  issued bigint NOT NULL,
  carried bigint NOT NULL,
  remaining bigint NOT NULL,
  held bigint NOT NULL,
  is_open boolean NOT NULL,
  PRIMARY KEY (account_id, number),
  CONSTRAINT ledger_lot_bounds CHECK (held >= 0 AND remaining >= held AND issued >= remaining)
) WITH (fillfactor = 50);
CREATE INDEX ledger_lots_open ON sluice.ledger_lots (account_id) WHERE is_open;

-- Periods that have ended. Until they are closed they take late events.
CREATE TABLE sluice.ledger_periods (
  account_id bigint NOT NULL REFERENCES sluice.ledger_accounts,
  start_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  opening bigint NOT NULL,
  issued bigint NOT NULL,
  carried bigint NOT NULL,
  used bigint NOT NULL,
  lapsed bigint NOT NULL,
  unpaid bigint NOT NULL,
  closed_at_ms bigint,
  PRIMARY KEY (account_id, start_ms)
);
CREATE INDEX ledger_periods_open ON sluice.ledger_periods (account_id) WHERE closed_at_ms IS NULL;
CREATE FUNCTION sluice.refuse_closed_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a closed period does not change' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER ledger_period_closed BEFORE UPDATE OR DELETE ON sluice.ledger_periods
  FOR EACH ROW WHEN (OLD.closed_at_ms IS NOT NULL) EXECUTE FUNCTION sluice.refuse_closed_period();

-- Open holds. A hold that is resolved becomes an entry.
CREATE TABLE sluice.ledger_holds (
  account_id bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  lots bigint[] NOT NULL,
  amounts bigint[] NOT NULL,
  at_ms bigint NOT NULL,
  expires_at_ms bigint NOT NULL,
  request text NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX ledger_holds_expiry ON sluice.ledger_holds (expires_at_ms);

-- Each entry takes its amount from one account and puts it into another, as its kind says. Entries are only added.
CREATE TABLE sluice.ledger_entries (
  account_id bigint NOT NULL,
  number bigint NOT NULL,
  id text COLLATE "C",
  part bigint NOT NULL,
  kind text NOT NULL,
  lot bigint NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  request text,
  reserved bigint,
  at_ms bigint NOT NULL,
  event_at_ms bigint NOT NULL,
  period_ms bigint NOT NULL,
  corrects bigint,
  note text,
  PRIMARY KEY (account_id, number)
);
CREATE UNIQUE INDEX ledger_entries_once ON sluice.ledger_entries (account_id, id, part);
CREATE INDEX ledger_entries_corrections ON sluice.ledger_entries (account_id, corrects) WHERE corrects IS NOT NULL;
CREATE FUNCTION sluice.refuse_entry_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'ledger entries are only added' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON sluice.ledger_entries
  FOR EACH ROW EXECUTE FUNCTION sluice.refuse_entry_change();
CREATE TRIGGER ledger_entries_not_emptied BEFORE TRUNCATE ON sluice.ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION sluice.refuse_entry_change();

ALTER TABLE sluice.tokens DROP CONSTRAINT tokens_role_check;
ALTER TABLE sluice.tokens ADD CONSTRAINT tokens_role_check CHECK (role IN ('viewer', 'operator', 'admin', 'ledger'));
`
