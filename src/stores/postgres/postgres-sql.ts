// The statements. Lists come as text, since drivers differ in how they pass lists. Everything of a write happens in one
// statement, and so in one transaction.

const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::int8'
const WRITES = 'unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::int8[]'

/** The SQLSTATE of what #groupsSql raises when a new counter was made by another at the same moment. */
export const GROUPS_RACED = '22012'

/**
 * Half of a page stays free, and neither the time nor the state is indexed: an update stays on its page, and touches no
 * index (HOT). Vacuum comes early, because all rows change all the time.
 */
export function createSql(table: string, isLogged: boolean): string {
  return `CREATE ${isLogged ? '' : 'UNLOGGED '}TABLE IF NOT EXISTS ${table} (
    name text COLLATE "C" PRIMARY KEY,
    version text COLLATE "C" NOT NULL,
    base text COLLATE "C",
    value text NOT NULL,
    expires_ms int8 NOT NULL
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)`
}

export function readSql(table: string): string {
  return `SELECT name, version, value FROM ${table} WHERE name = ANY($1::text::text[])`
}

/** Counters that stand alone: each is written if it has not changed, whatever becomes of the others. */
export function writeSql(table: string): string {
  return `INSERT INTO ${table} AS c (name, base, version, value, expires_ms)
    SELECT name, base, version, value, ${NOW_MS} + ttl_ms FROM ${WRITES}) AS w (name, base, version, value, ttl_ms)
    WHERE base IS NULL OR EXISTS (SELECT FROM ${table} AS found WHERE found.name = w.name)
    ORDER BY name
    ON CONFLICT (name) DO UPDATE
      SET base = excluded.base, version = excluded.version, value = excluded.value, expires_ms = excluded.expires_ms
      WHERE c.version = excluded.base
    RETURNING name`
}

/**
 * Counters in groups: all of a group, or none of it. What exists is locked in the order of names; then groups of which
 * nothing has changed are written. A new counter that another makes at the same moment rolls everything back.
 */
export function groupsSql(table: string): string {
  return `WITH w AS MATERIALIZED (
      SELECT * FROM ${WRITES}, $6::text::int8[]) AS w (name, base, version, value, ttl_ms, part)
    ), locked AS MATERIALIZED (
      SELECT c.name, c.version FROM ${table} AS c WHERE c.name = ANY($1::text::text[]) ORDER BY c.name FOR UPDATE
    ), good AS MATERIALIZED (
      SELECT * FROM w WHERE part NOT IN (
        SELECT w.part FROM w LEFT JOIN locked ON locked.name = w.name WHERE locked.version IS DISTINCT FROM w.base
      )
    ), updated AS (
      UPDATE ${table} AS c
      SET base = good.base, version = good.version, value = good.value, expires_ms = ${NOW_MS} + good.ttl_ms
      FROM good WHERE c.name = good.name AND good.base IS NOT NULL RETURNING c.name
    ), inserted AS (
      INSERT INTO ${table} (name, base, version, value, expires_ms)
      SELECT name, base, version, value, ${NOW_MS} + ttl_ms FROM good WHERE base IS NULL ORDER BY name
      ON CONFLICT (name) DO NOTHING RETURNING name
    ), written AS (SELECT name FROM updated UNION ALL SELECT name FROM inserted)
    SELECT name, 1 / (CASE WHEN (SELECT count(*) FROM written) = (SELECT count(*) FROM good) THEN 1 ELSE 0 END) AS whole
    FROM good`
}

export function pagesSql(table: string): string {
  return `SELECT pg_relation_size('${table.replaceAll("'", "''")}') / current_setting('block_size')::int8 AS pages`
}

/** Removes what has expired from some pages. What another holds is left for the next time. */
export function cleanSql(table: string): string {
  return `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM ${table} WHERE ctid >= $1::text::tid AND ctid < $2::text::tid AND expires_ms < ${NOW_MS}
    FOR UPDATE SKIP LOCKED
  ))`
}

/** Formats a list as PostgreSQL reads one, so that no driver has to know of lists. */
export function list(values: readonly (string | undefined)[]): string {
  return `{${values.map((value) => (value === undefined ? 'NULL' : `"${quoted(value)}"`)).join(',')}}`
}

function quoted(value: string): string {
  return value.includes('\\') || value.includes('"') ? value.replace(/[\\"]/g, '\\$&') : value
}
