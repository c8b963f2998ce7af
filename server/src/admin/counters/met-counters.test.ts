import { compileObjects } from 'sluice/internal/core/rules/compile'
import { Limiter } from 'sluice/internal/engine/limiter'
import { openStore } from 'sluice/internal/stores/open/open-store'
import { describe, expect, it } from 'vitest'
import type { DoorObserver } from '../../observe/door-observer.ts'
import { observerOf } from '../../observe/door-observer.ts'
import { HotKeys } from '../../observe/hot-keys/hot-keys.ts'
import type { AskProcesses } from '../../observe/reports/reports.ts'
import { CALLER_ENTRIES } from '../../quotas/book/caller-entries.ts'
import { ask, bookOf, customer, hash, key } from '../../quotas/book/records.suite.ts'
import type { CallerTarget } from '../callers/callers.ts'
import { FleetQuestions } from '../fleet/fleet-questions.ts'
import { ProcessView } from '../process/process-view.ts'
import { FleetCallers } from '../refusals/recent-callers.ts'
import { MetCounters } from './met-counters.ts'

const limit = (requests_per_unit: number) => ({ unit: 'day', requests_per_unit, algorithm: 'fixed_window' as const })
const RULES = compileObjects([
  {
    domain: 'api',
    descriptors: [
      { key: 'customer', descriptors: [{ key: 'month', rate_limit: limit(4) }] },
      { key: 'api_key', secret: true, descriptors: [{ key: 'session', secret: true, rate_limit: limit(1) }] },
      { key: 'region', descriptors: [{ key: 'x-api-key', descriptors: [{ key: 'path', rate_limit: limit(1) }] }] },
    ],
  },
])
const SECRET = 'k1-a-secret-of-32-characters-000'
const ACME: CallerTarget = { kind: 'customer', customerId: 'acme' }

type Memory = 'refusals' | 'nearLimits' | 'hotKeys'

/** scene is a node of one process that remembers in one way alone, and what it has met. */
function scene(memory: Memory, { isKeySeen = true } = {}) {
  const { book } = bookOf({
    customers: [customer('acme'), customer('beta')],
    api_keys: [key('k1', 'acme', { hash: hash(SECRET) }), key('k2', 'beta')],
  })
  const open = openStore({})
  const entries = CALLER_ENTRIES
  const view = new ProcessView({ rules: () => RULES, quotas: () => book, entries, keys: open.keys, store: open.store })
  const hotKeys = new HotKeys(0)
  const remembers: Record<Memory, DoorObserver> = { refusals: view.refusals, nearLimits: view.nearLimits, hotKeys }
  const observer = observerOf('http', [remembers[memory]])
  const limiter = new Limiter(() => RULES, open.store, { ...open.parts, quotas: () => book, observer })
  const processes = (async (name: string, about?: readonly string[]) =>
    name === 'refusals' ? [view.refusalsOf(about)] : [view.nearLimits.list()]) as unknown as AskProcesses
  const questions = new FleetQuestions({
    ...{ node: '1', redis: undefined },
    others: () => ({ ids: [], away: 0 }),
  })
  const met = new MetCounters({
    recent: new FleetCallers({ node: '1', ask: processes, questions }),
    hotKeys: () => hotKeys.gather(),
    ...{ book: () => book, entries, keys: open.keys },
    seen: async (ids) => new Map(isKeySeen ? Object.entries(view.seenKeys(ids)) : []),
  })
  const hits = async (text: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await limiter.check(ask(text))
  }
  const found = async (target: CallerTarget = ACME): Promise<string[]> => {
    const shown = (list: readonly { key: string; value: string }[]) => list.map((e) => `${e.key}=${e.value}`).join('/')
    const all = await met.of(target)
    expect(JSON.stringify(all)).not.toContain(SECRET)
    return [
      ...new Set(
        all.map(({ keyId = '-', key: name, above, below }) => `${shown(above)} ${name} ${keyId} ${shown(below)}`),
      ),
    ]
  }
  return { hits, found }
}

describe('the counters that a node has met', () => {
  it.each<[Memory, hits: number]>([
    ['refusals', 5],
    ['nearLimits', 4],
    ['hotKeys', 1],
  ])('belong to %s, by values that no rule names, and to no one else', async (memory, count) => {
    const { hits, found } = scene(memory)
    await hits('customer=acme month=2026-11', count)
    await hits('customer=beta month=2026-12', count)
    await hits('customer=acme2 month=2026-12', count)
    expect(await found()).toEqual([' customer - month=2026-11'])
  })

  it.each<Memory>(['refusals', 'nearLimits', 'hotKeys'])(
    'belong to its API keys, in %s, without the key',
    async (memory) => {
      const { hits, found } = scene(memory)
      await hits(`region=eu x-api-key=${SECRET} path=/v1`, 2)
      await hits('region=eu x-api-key=k2-secret path=/v2', 2)
      expect(await found()).toEqual(['region=eu x-api-key k1 path=/v1'])
      expect(await found({ kind: 'key', keyId: 'k1' })).toEqual(['region=eu x-api-key k1 path=/v1'])
    },
  )

  it.each<Memory>(['refusals', 'nearLimits'])(
    'belong to a key that only another node has seen, in %s, and not to other keys',
    async (memory) => {
      const { hits, found } = scene(memory, { isKeySeen: false })
      await hits(`region=eu x-api-key=${SECRET} path=/v1`, 2)
      await hits('region=eu x-api-key=k2-secret path=/v2', 2)
      expect(await found()).toEqual(['region=eu x-api-key k1 path=/v1'])
    },
  )

  it.each<Memory>(['refusals', 'nearLimits', 'hotKeys'])(
    'are left out of %s where another value is a secret',
    async (memory) => {
      const { hits, found } = scene(memory)
      await hits(`api_key=${SECRET} session=a-session-of-16-or-more`, 2)
      expect(await found()).toEqual([])
    },
  )

  it.each<Memory>(['nearLimits', 'hotKeys'])('have values with separators as they are, in %s', async (memory) => {
    const { hits, found } = scene(memory)
    await hits('customer=acme month=a|b%', 4)
    expect(await found()).toEqual([' customer - month=a|b%'])
  })
})
