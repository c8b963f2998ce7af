// What is here has run on databases of users: it is never changed. A change is another migration.
export const NODES = `
-- Every node writes its row once a second: what all of its processes decide by, and until when its usage is written.
CREATE TABLE sluice.nodes (
  id text PRIMARY KEY,
  name text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  alive_at timestamptz NOT NULL DEFAULT now(),
  revision bigint NOT NULL,
  rules int NOT NULL,
  usage_until timestamptz NOT NULL
) WITH (fillfactor = 50);
`
