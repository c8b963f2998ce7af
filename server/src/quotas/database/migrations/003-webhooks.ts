// What is here has run on databases of users: it is never changed. A change is another migration.
export const WEBHOOKS = `
-- Work that one node at a time does, such as sending the audit log on.
CREATE TABLE sluice.leases (
  name text COLLATE "C" PRIMARY KEY,
  holder text NOT NULL,
  until timestamptz NOT NULL
);

-- The secret is sealed: it is needed in clear to sign.
ALTER TABLE sluice.webhook_endpoints
  ADD COLUMN description text NOT NULL DEFAULT '',
  ADD COLUMN events jsonb NOT NULL DEFAULT '["quota.threshold"]',
  ADD COLUMN is_enabled boolean NOT NULL DEFAULT true,
  ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();

-- What has happened, once: a customer, a limit, a period and a threshold. It outlives the longest period.
CREATE TABLE sluice.webhook_events (
  once text COLLATE "C" PRIMARY KEY,
  at timestamptz NOT NULL
);
CREATE INDEX webhook_events_at ON sluice.webhook_events (at);

ALTER TABLE sluice.webhook_deliveries ADD COLUMN event text NOT NULL DEFAULT 'quota.threshold';
CREATE INDEX webhook_deliveries_endpoint ON sluice.webhook_deliveries (endpoint_id, created_at, id);

CREATE INDEX usage_hourly_customer ON sluice.usage_hourly (hour, customer_id, limit_name);
`
