// What is here has run on databases of users: it is never changed. A change is another migration.
export const USAGE_BY_TIER = `
-- What the callers of a tier used, by the hour: few rows, however many customers there are. A tier of '' is none. Nodes write to
-- different parts, so that they do not wait for each other.
CREATE TABLE sluice.usage_by_tier (
  hour timestamptz NOT NULL,
  tier text COLLATE "C" NOT NULL,
  part smallint NOT NULL,
  allowed bigint NOT NULL,
  refused bigint NOT NULL,
  cost bigint NOT NULL,
  PRIMARY KEY (hour, tier, part)
);

INSERT INTO sluice.usage_by_tier (hour, tier, part, allowed, refused, cost)
SELECT u.hour, coalesce(k.tier, c.tier, ''), 0, sum(u.allowed), sum(u.refused), sum(u.cost)
FROM sluice.usage_hourly u
LEFT JOIN sluice.customers c ON c.id = u.customer_id
LEFT JOIN sluice.api_keys k ON k.id = u.api_key_id
GROUP BY 1, 2;
`
