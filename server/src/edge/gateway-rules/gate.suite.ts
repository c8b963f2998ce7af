import { randomUUID } from 'node:crypto'
import { KeyedHash } from 'sluice/internal/core/hash'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import { parseRules } from 'sluice/internal/core/rules/parse'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import { Limiter, type LimiterParts } from 'sluice/internal/engine/limiter'
import type { Store } from 'sluice/internal/engine/ports'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { RedisStore } from 'sluice/internal/stores/redis/redis-store'
import { expect, onTestFinished } from 'vitest'
import { sharedRedis } from '../../../../tests/servers/shared.ts'
import { until } from '../../../../tests/servers/until.mjs'
import type { GatewayRequest } from '../gateway/gate.ts'
import { Ceiling } from './ceiling.ts'
import { compileRoutes } from './file/compile-routes.ts'
import type { GatewayLimiter } from './gateway-limiter.ts'
import { LimitGate, type LimitGateParts } from './limit-gate.ts'

/** The start of an hour. */
const START_MS = 3_600_000 * 500_000

/** A store whose clock a test sets. */
export interface TimedStore {
  readonly store: Store
  readonly parts: LimiterParts
  setMs(afterStartMs: number): void
}

async function inMemory(): Promise<TimedStore> {
  let nowMs = START_MS
  const store = new MemoryStore({ clock: { nowMs: () => nowMs } })
  const setMs = (ms: number) => {
    nowMs = START_MS + ms
  }
  return { store, parts: {}, setMs }
}

async function inRedis(): Promise<TimedStore> {
  const { url } = await sharedRedis()
  let nowMs = START_MS
  let isConnected = false
  const connected = () => {
    isConnected = true
  }
  const store = new RedisStore({ url, timeoutMs: 10_000, scriptNowMs: () => nowMs, events: { connected } })
  onTestFinished(() => store.close())
  await until('the store is connected', () => isConnected)
  const setMs = (ms: number) => {
    nowMs = START_MS + ms
  }
  return {
    store,
    parts: { hash: new KeyedHash(1, 2), partitions: 16, keyPrefix: `${randomUUID()}:` },
    setMs,
  }
}

/** The stores on which limits of the gateway have to be the same. */
export const timedStores = [
  ['in memory', inMemory],
  ['in Redis', inRedis],
] as const

/** Where requests of a gate wait. */
export type GateWaits = Pick<LimitGateParts, 'room' | 'turns'>

/** Returns a gate with the limits of a routes file, and the requests of a client. */
export function gateOn(store: Store, text: string, parts: LimiterParts = {}, waits: GateWaits = {}) {
  const { table, rules } = compileRoutes(parseRules('gw.yaml', text), 'gw.yaml')
  const compiled = compileObjects(rules.map(({ value }) => value as RuleFile))
  const limiter = new Limiter(() => compiled, store, { ...parts, keepsTurns: true })
  const failures: unknown[] = []
  /** What the gate does after its answer: a test waits for it. */
  const later: unknown[] = []
  const kept = <T>(done: T): T => {
    later.push(done)
    return done
  }
  const watched: GatewayLimiter = {
    plan: (request) => limiter.plan(request),
    hold: (charges, context, priority) => limiter.hold(charges, context, priority),
    conclude: (charges, verdicts, context) => limiter.conclude(charges, verdicts, context),
    decide: (charges) => kept(limiter.decide(charges)),
    domain: (name) => limiter.domain(name),
    decider: {
      settle: (charges, decision, cost) => kept(limiter.decider.settle(charges, decision, cost)),
      settledCharges: (charges, decision, cost) => limiter.decider.settledCharges(charges, decision, cost),
      refund: (charges, decision) => kept(limiter.decider.refund(charges, decision)),
      keep: () => undefined,
      letGo: () => undefined,
      release: () => undefined,
      commit: () => false,
    },
  }
  const gate = new LimitGate({
    limiter: watched,
    ceiling: new Ceiling(new MemoryStore()),
    failed: (error) => failures.push(error),
    ...waits,
  })
  const request = { route: table.routes[0], method: 'GET', path: '/', target: '/', headers: [], claim: () => true }
  const admit = (ip = '192.0.2.1', onLeave: (run: () => void) => void = () => {}) =>
    gate.admit({ ...request, ip, onLeave } as unknown as GatewayRequest)
  /** Waits for what the gate does after its answers. */
  const settle = async () => {
    while (later.length > 0) await later.shift()
    expect(failures).toEqual([])
  }
  return { admit, settle }
}
