import { describe, expect, it } from 'vitest'
import { SLOW_MS } from '../../server/src/quotas/database/databases.suite.ts'
import { sharedPostgres } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { QuotaFleet } from './quota-fleet.suite.ts'

interface Creation {
  /** What it changes, and how often it was changed, as SQL. */
  readonly table: string
  readonly count?: string
  /** A body, another one for each number. */
  body(number: number): object
}

/** Every operation that takes an idempotency key. */
const CREATIONS: Readonly<Record<string, Creation>> = {
  '/customers': { table: 'customers', body: (n) => ({ id: `beta-${n}` }) },
  '/customers/{customer_id}/keys': { table: 'api_keys', body: (n) => ({ name: `ci-${n}` }) },
  '/customers/{customer_id}/overrides': {
    table: 'quota_overrides',
    body: (n) => ({ requests_per_unit: 5, unit: 'day', domain: 'shop', descriptor: `path:/${n}` }),
  },
  '/customers/{customer_id}/grants': { table: 'grants', body: (n) => ({ amount: 10 + n }) },
  '/blocks': { table: 'blocks', body: (n) => ({ cidr: `198.51.${n}.0/24` }) },
  '/tokens': { table: 'tokens', body: (n) => ({ name: `ci-${n}`, role: 'viewer' }) },
  '/webhooks': { table: 'webhook_endpoints', body: (n) => ({ url: `https://example.com/events/${n}` }) },
  '/webhooks/{webhook_id}/secret': { table: 'webhook_endpoints', count: 'sum(version)', body: () => ({}) },
}
const TABLES = [...new Set(Object.values(CREATIONS).map(({ table }) => table))]

/** Has a creation wait at a step, for as long as there is a row in `hold`. */
const HOLD = `
CREATE TABLE public.hold (step text);
CREATE FUNCTION public.held() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WHILE EXISTS (SELECT FROM public.hold WHERE step = TG_ARGV[0]) LOOP PERFORM pg_sleep(0.01); END LOOP;
  RETURN NEW;
END $$;
${TABLES.map(
  (table) => `CREATE TRIGGER held_before BEFORE INSERT${table === 'webhook_endpoints' ? ' OR UPDATE' : ''}
  ON sluice.${table} FOR EACH ROW EXECUTE FUNCTION public.held('before the change');`,
).join('\n')}
CREATE TRIGGER held_between BEFORE UPDATE ON sluice.idempotency_keys
  FOR EACH ROW EXECUTE FUNCTION public.held('between the change and its answer');
CREATE CONSTRAINT TRIGGER held_commit AFTER UPDATE ON sluice.idempotency_keys DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION public.held('in the commit');
`
const WAITS = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"

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

/** A database, the node on it, and a customer and a webhook to create for. */
async function startNode() {
  const server = await sharedPostgres()
  const name = await server.createDatabase()
  const fleet = new QuotaFleet({ DATABASE_URL: server.url(name) })
  const sql = (text: string) => server.run(text, { database: name })
  const first = await fleet.start()
  await fleet.firstToken(first)
  const described = (await fleet.ask(first, 'GET', 'openapi.json')).json as unknown as Described
  expect(creationsOf(described).sort()).toEqual(Object.keys(CREATIONS).sort())
  expect((await fleet.ask(first, 'POST', 'customers', { id: 'acme' })).status).toBe(201)
  const webhook = await fleet.ask(first, 'POST', 'webhooks', { url: 'https://example.com/first' })
  const create = (path: string, number: number) => {
    const address = path.slice(1).replace('{customer_id}', 'acme').replace('{webhook_id}', webhook.json.id)
    const key = { 'idempotency-key': `${path} ${number}` }
    return fleet.ask(fleet.nodes[0], 'POST', address, CREATIONS[path].body(number), key)
  }
  /** How many changes of what a creation changes there were, and how many audit entries. */
  const effects = async (path: string): Promise<readonly number[]> => {
    const { table, count = 'count(*)' } = CREATIONS[path]
    const [{ changes, entries }] = await sql(
      `SELECT (SELECT ${count} FROM sluice.${table}) AS changes, (SELECT count(*) FROM sluice.audit) AS entries`,
    )
    return [Number(changes), Number(entries)]
  }
  return { fleet, sql, create, effects }
}

describe('every creation under an idempotency key', () => {
  it('that fails after its change leaves nothing behind, and its repetition is done once', {
    timeout: SLOW_MS,
  }, async () => {
    const { fleet, sql, create, effects } = await startNode()
    await sql(FAULT)
    for (const path of Object.keys(CREATIONS)) {
      const before = await effects(path)
      for (const step of ['between the change and its answer', 'in the commit']) {
        await sql(`INSERT INTO public.fault VALUES ('${step}')`)
        const failed = await create(path, 1)
        expect([path, step, failed.status, failed.json.code]).toEqual([path, step, 500, 'DATABASE_FAILED'])
        expect([path, step, await effects(path)]).toEqual([path, step, before])
        await sql('DELETE FROM public.fault')
      }
      const made = await create(path, 1)
      const once = before.map((count) => count + 1)
      expect([path, made.status < 300, await effects(path)]).toEqual([path, true, once])
      expect(await create(path, 1)).toMatchObject({ status: made.status, text: made.text })
      expect([path, await effects(path)]).toEqual([path, once])
    }
    expect(fleet.run('audit', 'verify').status).toBe(0)
  })

  it('whose node is killed before, between and in the commit of change and answer is done once', {
    timeout: SLOW_MS,
  }, async () => {
    const { fleet, sql, create, effects } = await startNode()
    await sql(HOLD)
    const isHeld = async () => (await sql(WAITS)).length > 0
    const steps = ['before the change', 'between the change and its answer', 'in the commit']
    for (const path of Object.keys(CREATIONS)) {
      for (const [number, step] of steps.entries()) {
        const before = await effects(path)
        await sql(`INSERT INTO public.hold VALUES ('${step}')`)
        const cut = create(path, number).catch(() => 'cut')
        await until(`POST ${path} waits ${step}`, isHeld)
        await fleet.kill(0)
        expect(await cut).toBe('cut')
        await sql('DELETE FROM public.hold')
        await until('its transaction has ended', async () => !(await isHeld()))
        // As a minute later: until then the repetition is answered that the first request is still running.
        await sql("UPDATE sluice.idempotency_keys SET created_at = now() - interval '2 minutes' WHERE answer IS NULL")
        await fleet.launch(0)
        const again = await until('the database is open', async () => {
          const answer = await create(path, number)
          return answer.status !== 503 && answer
        })
        expect([path, step, again.status < 300, again.text]).toEqual([path, step, true, expect.stringContaining('{')])
        expect([path, step, await effects(path)]).toEqual([path, step, before.map((count) => count + 1)])
        expect(await create(path, number)).toMatchObject({ status: again.status, text: again.text })
      }
    }
    expect(fleet.run('audit', 'verify').status).toBe(0)
  })
})
