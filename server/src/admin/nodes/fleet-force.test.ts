import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import { makePostgres, type TestDatabase } from '../../quotas/database/databases.suite.ts'
import { quotasOn } from '../../quotas/open/open-quotas.ts'
import { customer, SUPPORT } from '../../quotas/records/record-store.suite.ts'
import { FleetForce, MAX_WAITING } from './fleet-force.ts'

/** Longer than any test lasts: what resolves earlier was notified. */
const LONG_MS = 600_000

async function startNode(place: TestDatabase, name: string, usageUntilMs = 1_000) {
  const quotas = await quotasOn(await place.open())
  const node = { until: usageUntilMs }
  const fleet = new FleetForce({
    table: quotas.nodes,
    isAlone: false,
    name: () => name,
    usageUntilMs: () => node.until,
  })
  onTestFinished(() => fleet.leave())
  fleet.start()
  const now = async () => fleet.has(await quotas.nodes.latest())
  await until(`${name} has its row`, async () => (await quotas.nodes.list()).some((row) => row.name === name))
  return { fleet, quotas, now, node }
}

/** age has a node be silent for so long: nothing it writes is seen. */
const age = (place: TestDatabase, name: string, seconds: number) =>
  place.asSuperuser(`UPDATE sluice.nodes SET alive_at = now() - ${seconds} * interval '1 second',
    started_at = least(started_at, now() - ${seconds} * interval '1 second') WHERE name = '${name}'`)

/** ghost is a row that a node has left behind. */
const ghost = (place: TestDatabase, name: string, seconds: number, usageUntilMs = 500) =>
  place.asSuperuser(`INSERT INTO sluice.nodes VALUES ('ghost of ${name}', '${name}', now() - interval '1 day',
    now() - ${seconds} * interval '1 second', 0, 0, to_timestamp(${usageUntilMs} / 1000.0))`)

describe('FleetForce', () => {
  it('waits until every node has what was changed before', async () => {
    const place = await makePostgres()
    const [first, second] = [await startNode(place, 'a'), await startNode(place, 'b')]
    await first.quotas.store.put('customers', customer('acme'), SUPPORT)
    expect(await first.fleet.wait(0)).toEqual({ nodes: 2, confirmed: 0, waitingFor: ['b', 'a'], away: [] })
    await first.now()
    let isOver = false
    const waiting = first.fleet.wait(LONG_MS).finally(() => {
      isOver = true
    })
    second.fleet.has({ revision: -1, rules: 0 })
    expect(await first.fleet.wait(0)).toEqual({ nodes: 2, confirmed: 1, waitingFor: ['b'], away: [] })
    expect(isOver).toBe(false)
    await second.now()
    expect(await waiting).toEqual({ nodes: 2, confirmed: 2, waitingFor: [], away: [] })
  })

  it('waits for rules as for records, and for nothing that finds nothing to do', async () => {
    const place = await makePostgres()
    const { fleet, quotas, now } = await startNode(place, 'a')
    await now()
    await quotas.store.remove('customers', 'nobody', SUPPORT)
    expect(await fleet.wait(0)).toMatchObject({ confirmed: 1 })
    const text = 'domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 1}}]'
    await quotas.rules.put(await quotas.rules.check(text), { by: SUPPORT })
    expect(await fleet.wait(0)).toMatchObject({ confirmed: 0, waitingFor: ['a'] })
    const { revision } = await quotas.nodes.latest()
    fleet.has({ revision, rules: 1 })
    expect(await fleet.wait(0)).toMatchObject({ confirmed: 1 })
  })

  it('names nodes that are silent, and waits for none that left, is forgotten, or runs again', async () => {
    const place = await makePostgres()
    const { fleet, quotas, now } = await startNode(place, 'a')
    const second = await startNode(place, 'b')
    await quotas.store.put('customers', customer('acme'), SUPPORT)
    await now()
    await ghost(place, 'silent', 60)
    await ghost(place, 'stalled', 4)
    await ghost(place, 'forgotten', 601)
    await ghost(place, 'a', 4)
    await second.fleet.leave()
    expect(await fleet.wait(0)).toEqual({ nodes: 2, confirmed: 1, waitingFor: ['stalled'], away: ['silent'] })
    await fleet.leave()
    expect(await place.asSuperuser('SELECT name FROM sluice.nodes ORDER BY name')).not.toContainEqual({
      name: 'forgotten',
    })
  })

  it('knows until when the usage of all nodes is complete, dead ones for as long as they may come back', async () => {
    const place = await makePostgres()
    const { fleet, node } = await startNode(place, 'a', 5_000)
    const second = await startNode(place, 'b', 3_000)
    expect(await fleet.completeUntilMs()).toBe(3_000)
    await ghost(place, 'dead', 300, 2_000)
    expect(await fleet.completeUntilMs()).toBe(2_000)
    await age(place, 'dead', 601)
    await second.fleet.leave()
    expect(await fleet.completeUntilMs()).toBe(5_000)
    node.until = 6_000
    expect(await fleet.completeUntilMs()).toBe(6_000)
  })

  it('has a bounded number of requests wait, and answers one more with what is known', async () => {
    const place = await makePostgres()
    const { fleet, quotas, now } = await startNode(place, 'a')
    await quotas.store.put('customers', customer('acme'), SUPPORT)
    const waiting = Array.from({ length: MAX_WAITING }, () => fleet.wait(LONG_MS))
    expect(await fleet.wait(LONG_MS)).toMatchObject({ confirmed: 0 })
    await now()
    for (const confirmation of await Promise.all(waiting)) expect(confirmation).toMatchObject({ confirmed: 1 })
    expect(await fleet.wait(LONG_MS)).toMatchObject({ confirmed: 1 })
  })

  it('knows nothing while the database is unavailable', async () => {
    const place = await makePostgres({ own: true })
    const { fleet } = await startNode(place, 'a')
    await place.kill()
    expect(await fleet.wait(LONG_MS)).toBeUndefined()
  })
})
