// Nothing wrote to the tables that are recreated here before this version.
export const ADMIN = `
ALTER TABLE sluice.tokens ADD COLUMN expires_at timestamptz;

DROP TABLE sluice.active_rules;
DROP TABLE sluice.rule_activations;
DROP TABLE sluice.rate_limit_rules;
-- The newest version is in force. To go back adds another with the text of a former one.
CREATE TABLE sluice.rate_limit_rules (
  version integer PRIMARY KEY,
  document text NOT NULL,
  limits integer NOT NULL,
  domains jsonb NOT NULL,
  comment text,
  created_at timestamptz NOT NULL,
  created_by text NOT NULL
);

DROP TABLE sluice.idempotency_keys;
-- The answer is NULL while the first request with the key is under way.
CREATE TABLE sluice.idempotency_keys (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  fingerprint text NOT NULL,
  answer text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idempotency_keys_owner ON sluice.idempotency_keys (owner);
CREATE INDEX idempotency_keys_created ON sluice.idempotency_keys (created_at);
`
