import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { startPostgres } from '../servers/postgres.mjs'
import { sharedPostgres } from '../servers/shared.ts'
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

/** Has a creation fail at a step, for as long as there is a row in `fault`. */
const FAULT = `
CREATE TABLE public.fault (step text);
CREATE FUNCTION public.failing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM public.fault WHERE step = TG_ARGV[0]) THEN RAISE EXCEPTION 'a fault of this test'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER fails_between BEFORE UPDATE ON sluice.idempotency_keys
  FOR EACH ROW EXECUTE FUNCTION public.failing('between the change and its answer');
CREATE CONSTRAINT TRIGGER fails_commit AFTER UPDATE ON sluice.idempotency_keys DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION public.failing('in the commit');
`

/** A body for each operation that takes an idempotency key. */
const CREATIONS: Readonly<Record<string, object>> = {
  '/customers': { id: 'beta' },
  '/customers/{customer_id}/keys': { name: 'ci' },
  '/customers/{customer_id}/overrides': { requests_per_unit: 5, unit: 'day', domain: 'shop' },
  '/customers/{customer_id}/grants': { amount: 10 },
  '/blocks': { cidr: '198.51.100.0/24' },
  '/tokens': { name: 'ci', role: 'viewer' },
  '/webhooks': { url: 'https://example.com/events' },
  '/webhooks/{webhook_id}/secret': {},
}

interface Described {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly parameters?: readonly { name: string }[] }>>>
  >
}

/** Returns the paths of operations that take an idempotency key, as the API describes itself. */
function creationsOf({ paths }: Described): string[] {
  const takesKey = (path: string): boolean =>
    Object.values(paths[path]).some(({ parameters = [] }) => parameters.some(({ name }) => name === 'Idempotency-Key'))
  return Object.keys(paths)
    .filter(takesKey)
    .map((path) => path.replace('/admin/v1', ''))
}

describe('every creation under an idempotency key', () => {
  it('that fails after its change leaves nothing behind, and its repetition is done once', {
    timeout: SLOW_MS,
  }, async () => {
    const server = await sharedPostgres()
    const name = await server.createDatabase()
    const sql = (text: string) => server.run(text, { database: name })
    const fleet = new QuotaFleet({ DATABASE_URL: server.url(name) })
    const node = await fleet.start()
    await fleet.firstToken(node)
    const described = (await fleet.ask(node, 'GET', 'openapi.json')).json as unknown as Described
    expect(creationsOf(described).sort()).toEqual(Object.keys(CREATIONS).sort())
    expect((await fleet.ask(node, 'POST', 'customers', { id: 'acme' })).status).toBe(201)
    const webhook = await fleet.ask(node, 'POST', 'webhooks', { url: 'https://example.com/first' })
    await sql(FAULT)
    const entries = async () => Number((await sql('SELECT count(*) FROM sluice.audit'))[0].count)
    for (const [path, body] of Object.entries(CREATIONS)) {
      const address = path.slice(1).replace('{customer_id}', 'acme').replace('{webhook_id}', webhook.json.id)
      const create = () => fleet.ask(node, 'POST', address, body, { 'idempotency-key': path })
      const before = await entries()
      for (const step of ['between the change and its answer', 'in the commit']) {
        await sql(`INSERT INTO public.fault VALUES ('${step}')`)
        const failed = await create()
        expect([path, step, failed.status, failed.json.code]).toEqual([path, step, 500, 'DATABASE_FAILED'])
        expect([path, step, await entries()]).toEqual([path, step, before])
        await sql('DELETE FROM public.fault')
      }
      const made = await create()
      expect([path, made.status < 300, await entries()]).toEqual([path, true, before + 1])
      expect(await create()).toMatchObject({ status: made.status, text: made.text })
      expect([path, await entries()]).toEqual([path, before + 1])
    }
    expect(fleet.run('audit', 'verify').status).toBe(0)
  })
})

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
