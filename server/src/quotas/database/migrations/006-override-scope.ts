// What is here has run on databases of users: it is never changed. A change is another migration.
export const OVERRIDE_SCOPE = `
-- Overrides for one domain, or for one rule of it. Those that were there are for all, as before.
ALTER TABLE sluice.quota_overrides ADD COLUMN domain text, ADD COLUMN rule text;
ALTER TABLE sluice.quota_overrides ADD CONSTRAINT quota_overrides_scope CHECK (rule IS NULL OR domain IS NOT NULL);

-- The id of a rule may be longer than a row of an index: its hash of 64 bits stands for it.
DROP INDEX sluice.quota_overrides_once;
CREATE UNIQUE INDEX quota_overrides_once ON sluice.quota_overrides
  (coalesce(customer_id, ''), coalesce(api_key_id, ''), descriptor, coalesce(domain, ''),
   hashtextextended(coalesce(rule, ''), 0), effective_at);
`
