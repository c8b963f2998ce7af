import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { startPostgres } from '../servers/postgres.mjs'
import { until } from '../servers/until.mjs'
import { QuotaFleet } from './quota-fleet.suite.ts'

/** Has a statement on a table wait for as long as there is a row in `hold`. */
const HOLD = `
CREATE TABLE public.hold (step text);
CREATE FUNCTION public.held() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WHILE EXISTS (SELECT FROM public.hold WHERE step = TG_ARGV[0]) LOOP PERFORM pg_sleep(0.01); END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER held_before BEFORE INSERT ON sluice.grants FOR EACH ROW EXECUTE FUNCTION public.held('before the change');
CREATE TRIGGER held_between BEFORE UPDATE ON sluice.idempotency_keys
  FOR EACH ROW EXECUTE FUNCTION public.held('between the change and its answer');
CREATE CONSTRAINT TRIGGER held_commit AFTER UPDATE ON sluice.idempotency_keys DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION public.held('in the commit');
`
const WAITS = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"

describe('a creation under an idempotency key, whose node is killed', () => {
  it('before, between and in the commit of change and answer is done once, and its repetition gets the answer', {
    timeout: SLOW_MS,
  }, async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const name = await server.createDatabase()
    const sql = (text: string) => server.run(text, { database: name })
    const fleet = new QuotaFleet({ DATABASE_URL: server.url(name) })
    await fleet.firstToken(await fleet.start())
    const grant = (key: string) =>
      fleet.ask(
        fleet.nodes[0],
        'POST',
        'customers/acme/grants',
        { amount: 10, expires_at: '2099-01-01T00:00:00Z' },
        { 'idempotency-key': key },
      )
    expect((await fleet.ask(fleet.nodes[0], 'POST', 'customers', { id: 'acme' })).status).toBe(201)
    await sql(HOLD)
    const steps = ['before the change', 'between the change and its answer', 'in the commit']
    for (const step of steps) {
      await sql(`INSERT INTO public.hold VALUES ('${step}')`)
      const cut = grant(step).catch(() => 'cut')
      await until(`the request waits ${step}`, async () => (await sql(WAITS)).length > 0)
      const { child } = fleet.nodes[0]
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      expect(await cut).toBe('cut')
      await sql('DELETE FROM public.hold')
      await until('its transaction has ended', async () => (await sql(WAITS)).length === 0)
      // As a minute later: until then the repetition is told that the first request is still running.
      await sql("UPDATE sluice.idempotency_keys SET created_at = now() - interval '2 minutes' WHERE answer IS NULL")
      await fleet.start(0)
      const again = await until('the database is open', async () => {
        const answer = await grant(step)
        return answer.status !== 503 && answer
      })
      expect([step, again.status, again.text]).toEqual([step, 201, expect.stringContaining('"amount":10')])
      expect(await grant(step)).toMatchObject({ status: 201, text: again.text })
    }
    const grants = await fleet.ask(fleet.nodes[0], 'GET', 'customers/acme/grants')
    expect((grants.json.items as unknown[]).length).toBe(steps.length)
    expect(fleet.run('audit', 'verify').status).toBe(0)
  })
})
