// What is here has run on databases of users: it is never changed. A change is another migration.
export const QUOTAS = `
CREATE TABLE sluice.meta (
  name text PRIMARY KEY,
  value text NOT NULL
);

-- One row: who changes a record holds it until the commit, so that revisions are in the order of commits.
CREATE TABLE sluice.revision (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  revision bigint NOT NULL
);
INSERT INTO sluice.revision (revision) VALUES (0);

-- What nodes follow. Old rows are removed: who is further behind reads everything.
CREATE TABLE sluice.changes (
  revision bigint NOT NULL,
  ordinal integer NOT NULL,
  table_name text NOT NULL,
  id text COLLATE "C" NOT NULL,
  record jsonb,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (revision, ordinal)
);

CREATE TABLE sluice.customers (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  tier text,
  status text NOT NULL CHECK (status IN ('active', 'suspended')),
  time_zone text NOT NULL,
  period_anchor text,
  metadata jsonb NOT NULL,
  version bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX customers_tier ON sluice.customers (tier, id);
CREATE INDEX customers_name ON sluice.customers (lower(name) COLLATE "C");

CREATE TABLE sluice.api_keys (
  id text COLLATE "C" PRIMARY KEY,
  hash text NOT NULL UNIQUE,
  prefix text NOT NULL,
  customer_id text COLLATE "C" REFERENCES sluice.customers DEFERRABLE INITIALLY DEFERRED,
  name text NOT NULL,
  tier text,
  version bigint NOT NULL,
  created_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX api_keys_customer ON sluice.api_keys (customer_id, id);
CREATE INDEX api_keys_prefix ON sluice.api_keys (lower(prefix) COLLATE "C");

CREATE TABLE sluice.quota_overrides (
  id text COLLATE "C" PRIMARY KEY,
  customer_id text COLLATE "C" REFERENCES sluice.customers DEFERRABLE INITIALLY DEFERRED,
  api_key_id text COLLATE "C" REFERENCES sluice.api_keys DEFERRABLE INITIALLY DEFERRED,
  descriptor text NOT NULL,
  requests_per_unit bigint NOT NULL CHECK (requests_per_unit >= 0),
  unit text NOT NULL CHECK (unit IN ('second', 'minute', 'hour', 'day', 'week', 'month', 'year')),
  algorithm text,
  burst bigint,
  effective_at timestamptz NOT NULL,
  expires_at timestamptz,
  reason text,
  ticket text,
  version bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  CONSTRAINT quota_overrides_subject CHECK (num_nonnulls(customer_id, api_key_id) = 1)
);
CREATE UNIQUE INDEX quota_overrides_once
  ON sluice.quota_overrides (coalesce(customer_id, ''), coalesce(api_key_id, ''), descriptor, effective_at);
CREATE INDEX quota_overrides_customer ON sluice.quota_overrides (customer_id, id);
CREATE INDEX quota_overrides_key ON sluice.quota_overrides (api_key_id, id);

CREATE TABLE sluice.grants (
  id text COLLATE "C" PRIMARY KEY,
  customer_id text COLLATE "C" NOT NULL REFERENCES sluice.customers DEFERRABLE INITIALLY DEFERRED,
  descriptor text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  effective_at timestamptz NOT NULL,
  expires_at timestamptz,
  reason text,
  ticket text,
  version bigint NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX grants_customer ON sluice.grants (customer_id, id);

CREATE TABLE sluice.blocks (
  id text COLLATE "C" PRIMARY KEY,
  customer_id text COLLATE "C" REFERENCES sluice.customers DEFERRABLE INITIALLY DEFERRED,
  api_key_id text COLLATE "C" REFERENCES sluice.api_keys DEFERRABLE INITIALLY DEFERRED,
  cidr text,
  effective_at timestamptz NOT NULL,
  expires_at timestamptz,
  reason text,
  status integer NOT NULL,
  body text,
  version bigint NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT blocks_subject CHECK (num_nonnulls(customer_id, api_key_id, cidr) = 1)
);
CREATE INDEX blocks_customer ON sluice.blocks (customer_id, id);
CREATE INDEX blocks_key ON sluice.blocks (api_key_id, id);

CREATE TABLE sluice.tiers (
  id text COLLATE "C" PRIMARY KEY,
  domain text NOT NULL,
  name text NOT NULL,
  limits jsonb NOT NULL,
  version bigint NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE TABLE sluice.switches (
  id text COLLATE "C" PRIMARY KEY,
  domain text,
  rule text,
  mode text NOT NULL CHECK (mode IN ('off', 'shadow', 'enforce')),
  reason text,
  version bigint NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE TABLE sluice.audit (
  sequence bigint PRIMARY KEY,
  at_ms bigint NOT NULL,
  actor_id text NOT NULL,
  actor_name text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  customer_id text,
  before text,
  after text,
  reason text,
  address text,
  previous text NOT NULL,
  hash text NOT NULL
);
CREATE INDEX audit_at ON sluice.audit (at_ms);
CREATE INDEX audit_actor ON sluice.audit (actor_id, sequence);
CREATE INDEX audit_action ON sluice.audit (action, sequence);
CREATE INDEX audit_target ON sluice.audit (target, sequence);
CREATE INDEX audit_customer ON sluice.audit (customer_id, sequence);

CREATE TABLE sluice.audit_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sequence bigint NOT NULL,
  hash text NOT NULL,
  signature text NOT NULL
);

CREATE FUNCTION sluice.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is only added to' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON sluice.audit
  FOR EACH ROW EXECUTE FUNCTION sluice.refuse_change();
CREATE TRIGGER audit_not_emptied BEFORE TRUNCATE ON sluice.audit
  FOR EACH STATEMENT EXECUTE FUNCTION sluice.refuse_change();

-- How far each sink (a file, Kafka) has confirmed the audit log: what is after that waits for it.
CREATE TABLE sluice.sink_positions (
  sink text PRIMARY KEY,
  sequence bigint NOT NULL,
  confirmed_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE sluice.tokens (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  hash text NOT NULL UNIQUE,
  prefix text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  created_at timestamptz NOT NULL,
  last_used_at timestamptz,
  revoked_at timestamptz
);

CREATE TABLE sluice.usage_hourly (
  customer_id text COLLATE "C" NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  limit_name text COLLATE "C" NOT NULL,
  hour timestamptz NOT NULL,
  allowed bigint NOT NULL,
  refused bigint NOT NULL,
  cost bigint NOT NULL,
  PRIMARY KEY (customer_id, hour, limit_name, api_key_id)
);
CREATE INDEX usage_hourly_hour ON sluice.usage_hourly (hour);

CREATE TABLE sluice.usage_daily (
  customer_id text COLLATE "C" NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  limit_name text COLLATE "C" NOT NULL,
  day timestamptz NOT NULL,
  allowed bigint NOT NULL,
  refused bigint NOT NULL,
  cost bigint NOT NULL,
  PRIMARY KEY (customer_id, day, limit_name, api_key_id)
);
CREATE INDEX usage_daily_day ON sluice.usage_daily (day);

-- Batches of usage that were counted: one that is sent again is not counted again.
CREATE TABLE sluice.usage_batches (
  node text COLLATE "C" NOT NULL,
  batch text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (node, batch)
);
CREATE INDEX usage_batches_at ON sluice.usage_batches (at);

CREATE TABLE sluice.rate_limit_rules (
  name text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  document text NOT NULL,
  created_at timestamptz NOT NULL,
  created_by text NOT NULL,
  reason text,
  PRIMARY KEY (name, version)
);

-- Each activation knows the one that it took the place of; a version of NULL is "none in force".
CREATE TABLE sluice.rule_activations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  version integer,
  parent bigint REFERENCES sluice.rule_activations,
  FOREIGN KEY (name, version) REFERENCES sluice.rate_limit_rules
);
CREATE TABLE sluice.active_rules (
  name text COLLATE "C" PRIMARY KEY,
  activation bigint NOT NULL REFERENCES sluice.rule_activations
);

-- Status and answer are NULL while the first request with the key is under way.
CREATE TABLE sluice.idempotency_keys (
  actor text NOT NULL,
  key text NOT NULL,
  fingerprint text NOT NULL,
  status integer,
  answer text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (actor, key)
);
CREATE INDEX idempotency_keys_created ON sluice.idempotency_keys (created_at);

CREATE TABLE sluice.webhook_endpoints (
  id text COLLATE "C" PRIMARY KEY,
  url text NOT NULL,
  secret text NOT NULL,
  customer_id text COLLATE "C",
  thresholds jsonb NOT NULL,
  disabled_reason text,
  version bigint NOT NULL,
  created_at timestamptz NOT NULL
);

-- once: what a delivery is about, such as a customer, a limit, a period and a threshold; it is told to an endpoint once.
CREATE TABLE sluice.webhook_deliveries (
  id text COLLATE "C" PRIMARY KEY,
  endpoint_id text COLLATE "C" NOT NULL REFERENCES sluice.webhook_endpoints ON DELETE CASCADE,
  once text NOT NULL,
  body text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
  next_at timestamptz,
  last_status integer,
  last_error text,
  created_at timestamptz NOT NULL,
  finished_at timestamptz,
  UNIQUE (endpoint_id, once)
);
CREATE INDEX webhook_deliveries_due ON sluice.webhook_deliveries (next_at) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_created ON sluice.webhook_deliveries (created_at, id);
`
