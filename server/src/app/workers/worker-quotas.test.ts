import { compileObjects } from 'sluice/internal/core/rules/compile'
import { match } from 'sluice/internal/core/rules/match'
import type { Domain } from 'sluice/internal/core/rules/rule-set'
import { describe, expect, it } from 'vitest'
import { customer, entriesOf, hash, key, ofKey, override } from '../../quotas/book/records.suite.ts'
import type { QuotaChange, QuotaSnapshot } from '../../quotas/model.ts'
import { QuotaFeed, type QuotaNews } from './quota-feed.ts'
import { WorkerQuotas } from './worker-quotas.ts'

const DOMAIN = compileObjects([
  {
    domain: 'api',
    tiers: { pro: { rate_limit: { unit: 'minute', requests_per_unit: 100 } } },
    descriptors: [{ key: 'api_key', tiered: true, rate_limit: { unit: 'minute', requests_per_unit: 1 } }],
  },
]).domains.get('api') as Domain

const NONE = { grants: [], blocks: [], tiers: [], switches: [], meters: [] }

/** Of so many customers with a key and an override each, all of `limit`. */
function snapshotOf(count: number, limit: number, revision: number): QuotaSnapshot {
  const ids = Array.from({ length: count }, (_, i) => String(i))
  return {
    ...NONE,
    customers: ids.map((id) => customer(`c${id}`, { tier: 'pro', name: 'a name', metadata: { billing: id } })),
    api_keys: ids.map((id) => key(`k${id}`, `c${id}`)),
    overrides: ids.map((id) => override(`o${id}`, ofKey(`k${id}`), limit)),
    revision,
  }
}

const changeOf = (id: number, limit: number | undefined, revision: number): QuotaChange => {
  const record = limit === undefined ? undefined : override(`o${id}`, ofKey(`k${id}`), limit)
  return { table: 'overrides', id: `o${id}`, record, revision }
}

/** A feed with workers whose messages are delivered when the test says so. */
function fleet() {
  const workers: { own: WorkerQuotas; inbox: QuotaNews[]; questions: [number, number][] }[] = []
  const feed = new QuotaFeed((news) => {
    for (const { inbox } of workers) inbox.push(structuredClone(news))
  })
  const start = () => {
    const inbox: QuotaNews[] = [feed.announce()]
    const questions: [number, number][] = []
    const worker = { own: new WorkerQuotas({ hash }, (...question) => questions.push(question)), inbox, questions }
    workers.push(worker)
    return worker
  }
  /** Delivers one message, or one answer, to each worker. It returns whether there was any. */
  const step = async (): Promise<boolean> => {
    let isMore = false
    for (const { own, inbox, questions } of workers) {
      const news = inbox.shift()
      const question = questions.shift()
      if (question !== undefined) inbox.push(structuredClone(feed.answer(...question)))
      if (news !== undefined) own.hear(news)
      isMore ||= news !== undefined || question !== undefined
    }
    await new Promise((resolve) => setImmediate(resolve))
    return isMore || workers.some(({ questions }) => questions.length > 0)
  }
  const deliver = async (): Promise<void> => {
    while (await step()) {}
  }
  return { feed, start, step, deliver }
}

const limitOf = ({ own }: { own: WorkerQuotas }, id: number): number =>
  match(DOMAIN, entriesOf(`api_key=k${id}-secret`), undefined, own.current().accounts)[0].limit.max

describe('the quotas of a worker', () => {
  it('come in parts, and come into force in one step', async () => {
    const { feed, start, step, deliver } = fleet()
    await feed.load(snapshotOf(2_000, 7, 1))
    const worker = start()
    for (let i = 0; i < 8; i++) await step()
    expect([limitOf(worker, 0), worker.own.current().counts.customers]).toEqual([1, 0])
    await deliver()
    await worker.own.arrived
    expect([limitOf(worker, 0), limitOf(worker, 1_999), worker.own.current().revision]).toEqual([7, 7, 1])
  })

  it('miss no change that comes while they are on their way', async () => {
    const { feed, start, step, deliver } = fleet()
    await feed.load(snapshotOf(2_000, 7, 1))
    const worker = start()
    for (let i = 0; i < 8; i++) await step()
    feed.apply([changeOf(0, 8, 2), changeOf(1_999, 8, 3), changeOf(5, undefined, 4)])
    await deliver()
    feed.apply([changeOf(1, 9, 5)])
    await deliver()
    expect([0, 1_999, 5, 1, 2].map((id) => limitOf(worker, id))).toEqual([8, 8, 100, 9, 7])
  })

  it('are the newest, when a newer set comes in between, and for a worker that starts late', async () => {
    const { feed, start, step, deliver } = fleet()
    await feed.load(snapshotOf(2_000, 7, 1))
    const early = start()
    for (let i = 0; i < 8; i++) await step()
    await feed.load(snapshotOf(1_500, 8, 2))
    feed.apply(Array.from({ length: 1_100 }, (_, i) => changeOf(i, 9, 3 + i)))
    const late = start()
    await deliver()
    for (const worker of [early, late]) {
      expect([0, 1_099, 1_100, 1_499, 1_500].map((id) => limitOf(worker, id))).toEqual([9, 9, 8, 8, 1])
    }
  })

  it('are sent without what no decision depends on', async () => {
    const { feed } = fleet()
    await feed.load(snapshotOf(1, 7, 1))
    expect(JSON.stringify(feed.answer(1, 0))).not.toContain('billing')
  })

  it('are not sent again when nothing was missed', async () => {
    const { feed } = fleet()
    await feed.load(snapshotOf(1, 7, 3))
    await feed.load(snapshotOf(1, 8, 3))
    expect(feed.announce().version).toBe(1)
  })
})
