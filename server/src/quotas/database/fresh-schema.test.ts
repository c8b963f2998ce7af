import { describe, expect, it } from 'vitest'
import type { Database } from './database.ts'
import { SLOW_MS, testDatabases } from './databases.suite.ts'
import { FreshSchema } from './fresh-schema.suite.ts'

/** All rows of the tables that the statements below change, and the next id of one. */
const STATE = `SELECT json_build_array(
  (SELECT json_agg(version ORDER BY version) FROM sluice.migrations),
  (SELECT json_agg(each) FROM sluice.revision AS each),
  (SELECT count(*) FROM sluice.customers),
  (SELECT count(*) FROM sluice.audit),
  (SELECT json_agg(tgenabled ORDER BY tgname) FROM pg_trigger WHERE NOT tgisinternal),
  (SELECT json_agg(indexname ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'sluice'),
  (SELECT json_agg(column_name ORDER BY table_name, column_name) FROM information_schema.columns WHERE table_schema = 'sluice'),
  (SELECT md5(string_agg(prosrc, '' ORDER BY proname)) FROM pg_proc WHERE pronamespace = 'sluice'::regnamespace),
  (SELECT json_agg(last_value ORDER BY sequencename) FROM pg_sequences WHERE schemaname = 'sluice')
)::text AS state`

async function stateOf(db: Database): Promise<unknown> {
  const [{ state }] = await db.query<{ state: string }>(STATE)
  return JSON.parse(state)
}

/** What a test may leave behind, each as statements that run without triggers and foreign keys. */
const LEFT = {
  nothing: 'SELECT 1',
  'a row': `INSERT INTO sluice.audit (sequence, at_ms, actor_id, actor_name, action, target, previous, hash)
    VALUES (1, 0, 'a', 'a', 'a', 'a', 'a', 'a')`,
  'another row in the place of the first': 'UPDATE sluice.revision SET revision = 7',
  'a table without its first rows': 'DELETE FROM sluice.revision',
  'ids that were given out': `SELECT nextval(format('sluice.%I', sequencename)) FROM pg_sequences WHERE schemaname = 'sluice'`,
  'a trigger that is off': 'ALTER TABLE sluice.audit DISABLE TRIGGER ALL',
  'a column more': 'ALTER TABLE sluice.customers ADD COLUMN more text',
  'an index less': 'DROP INDEX sluice.audit_actor',
  'another function':
    "CREATE OR REPLACE FUNCTION sluice.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
  'a column more for a while':
    'ALTER TABLE sluice.customers ADD COLUMN more text; ALTER TABLE sluice.customers DROP COLUMN more',
  'no tables': 'DROP SCHEMA sluice CASCADE',
}

describe.each(testDatabases)('the tables of a test on %s', { timeout: SLOW_MS }, (_, make) => {
  it('are as migrations leave them, whatever a test before has done to them', async () => {
    const db = await (await make({ bare: true })).open()
    const schema = new FreshSchema()
    await schema.restore(db)
    const fresh = await stateOf(db)
    for (const [what, sql] of Object.entries(LEFT)) {
      await db.transaction(async (tx) => {
        await tx.query('SET LOCAL session_replication_role = replica')
        await tx.query(sql)
      })
      await schema.restore(db)
      expect(await stateOf(db), what).toEqual(fresh)
    }
  })
})
