import { seededRandom } from 'sluice/internal/core/algorithms/oracle.suite'
import { describe, expect, it } from 'vitest'
import { gateOn, type TimedStore, timedStores } from './gate.suite.ts'
import { Turns } from './turns.ts'
import { WaitingRoom } from './waiting-room.ts'

const INTERVAL_MS = 200
const QUEUE = `
upstreams: { app: http://localhost:3000 }
limits: [{ requests_per_unit: 5, unit: second, queue: 10, on_status: [200] }]
`

/** Rings timers in their order, each at its moment. */
class VirtualTime {
  readonly #store: TimedStore
  readonly #timers = new Set<{ readonly dueMs: number; readonly run: () => void }>()
  nowMs = 0

  constructor(store: TimedStore) {
    this.#store = store
    store.setMs(0)
  }

  readonly after = (ms: number, run: () => void): (() => void) => {
    const timer = { dueMs: this.nowMs + ms, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** advance waits, after each timer, until what follows from it is done. */
  async advance(ms: number, settled: () => Promise<void>): Promise<void> {
    const untilMs = this.nowMs + ms
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.dueMs - b.dueMs)[0]
      if (next === undefined || next.dueMs > untilMs) break
      this.#timers.delete(next)
      this.#set(next.dueMs)
      next.run()
      await settled()
    }
    this.#set(untilMs)
  }

  #set(ms: number): void {
    this.nowMs = ms
    this.#store.setMs(ms)
  }
}

/** A request, and what has become of it. */
interface Client {
  state: 'asks' | 'waits' | 'refused' | 'released' | 'left'
  releasedMs: number | undefined
  leave(): void
}

/** Runs several gates on one store, as processes do. */
async function startQueue(open: (typeof timedStores)[number][1], text = QUEUE, processes = 2) {
  const timed = await open()
  const time = new VirtualTime(timed)
  const gates = Array.from({ length: processes }, () =>
    gateOn(timed.store, text, timed.parts, {
      room: new WaitingRoom(time.after),
      turns: new Turns(time.after, () => time.nowMs),
    }),
  )
  const clients: Client[] = []
  const settled = async (): Promise<void> => {
    // Answers of a wait come with the next turn of the loop; what they lead to is awaited then.
    await new Promise<void>((resolve) => setImmediate(resolve))
    for (const { settle } of gates) await settle()
  }
  /** Sends a request, and waits until it is refused, let through, or held back. */
  const arrive = async (at = 0, status = 200): Promise<Client> => {
    const client: Client = { state: 'asks', releasedMs: undefined, leave: () => {} }
    clients.push(client)
    const held = new Promise<void>((resolve) => {
      const answer = gates[at % processes].admit('192.0.2.1', (run) => {
        client.state = 'waits'
        client.leave = () => {
          client.state = 'left'
          run()
        }
        resolve()
      })
      void Promise.resolve(answer).then((admission) => {
        if (admission.kind === 'refused') client.state = 'refused'
        else if (client.state !== 'left') {
          client.state = 'released'
          client.releasedMs = time.nowMs
          admission.responded?.(status, [])
          admission.ended('finish')
        } else admission.ended('abort')
        resolve()
      })
    })
    await held
    return client
  }
  const waiting = () => clients.filter(({ state }) => state === 'waits')
  const gaps = () => {
    const times = clients.flatMap(({ releasedMs }) => releasedMs ?? []).sort((a, b) => a - b)
    return times.slice(1).map((each, i) => each - times[i])
  }
  const advance = (ms: number) => time.advance(ms, settled)
  return { arrive, advance, settled, waiting, gaps, clients }
}

describe.each(timedStores)('a queue %s', (_, open) => {
  it('of 10 holds 10, behind the one that goes immediately', async () => {
    const { arrive, waiting, clients, advance } = await startQueue(open)
    for (let i = 0; i < 13; i++) await arrive(i)
    expect(clients.map(({ state }) => state)).toEqual([
      'released',
      ...Array(10).fill('waits'),
      ...Array(2).fill('refused'),
    ])
    await advance(INTERVAL_MS)
    await arrive()
    await arrive()
    expect(waiting().length).toBe(10)
  })

  it('lets one go for each interval when some leave and others come', async () => {
    const { arrive, advance, settled, gaps, clients } = await startQueue(open)
    for (let i = 0; i < 11; i++) await arrive(i)
    await advance(1)
    for (const at of [1, 3, 5, 7, 9]) clients[at].leave()
    await settled()
    for (let i = 0; i < 10; i++) await arrive(i)
    await advance(20 * INTERVAL_MS)
    expect(Math.min(...gaps())).toBeGreaterThanOrEqual(INTERVAL_MS)
  })

  it('has later requests move up when some leave, and gives what remains to new ones', async () => {
    const { arrive, advance, settled, clients, waiting } = await startQueue(open, QUEUE, 1)
    for (let i = 0; i < 11; i++) await arrive()
    for (const at of [1, 2, 3, 4, 5]) clients[at].leave()
    await settled()
    for (let i = 0; i < 6; i++) await arrive()
    expect([waiting().length, clients.at(-1)?.state]).toEqual([10, 'refused'])
    await advance(10 * INTERVAL_MS)
    const order = [0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    expect(order.map((at) => clients[at].releasedMs)).toEqual(order.map((_, i) => i * INTERVAL_MS))
  })

  it('serves the requests that stay at its rate, however many give up early', async () => {
    const { arrive, advance, settled, clients } = await startQueue(open, QUEUE, 1)
    for (let i = 0; i < 50; i++) {
      const impatient = await arrive()
      await arrive()
      await advance(INTERVAL_MS / 2)
      if (impatient.state === 'waits') impatient.leave()
      await settled()
      await advance(INTERVAL_MS / 2)
    }
    expect(clients.filter(({ state }) => state === 'released').length).toBeGreaterThanOrEqual(50)
  })

  it('keeps the turn of a request that found no room for the next one', async () => {
    const text = `${QUEUE}queue: { requests: 2 }\n`
    const { arrive, advance, clients } = await startQueue(open, text, 1)
    for (let i = 0; i < 11; i++) await arrive()
    expect(clients.map(({ state }) => state)).toEqual(['released', 'waits', 'waits', ...Array(8).fill('refused')])
    await advance(INTERVAL_MS)
    const next = await arrive()
    await advance(10 * INTERVAL_MS)
    expect(next.releasedMs).toBe(3 * INTERVAL_MS)
  })

  it('lets one go for each interval when answers do not count', async () => {
    const { arrive, advance, settled, gaps } = await startQueue(open)
    for (let i = 0; i < 5; i++) await arrive(i, 500)
    await settled()
    for (let i = 0; i < 5; i++) {
      await advance(INTERVAL_MS / 2)
      await arrive(i, 500)
    }
    await advance(20 * INTERVAL_MS)
    expect(Math.min(...gaps())).toBeGreaterThanOrEqual(INTERVAL_MS)
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'is never faster, and never longer, no matter which requests come and leave (seed %i)',
    async (seed) => {
      const random = seededRandom(seed)
      const below = (count: number): number => Math.floor(random() * count)
      const { arrive, advance, settled, waiting, gaps } = await startQueue(open, QUEUE, 3)
      for (let round = 0; round < 40; round++) {
        for (let i = below(7); i > 0; i--) await arrive(below(3), below(2) === 0 ? 200 : 500)
        expect(waiting().length).toBeLessThanOrEqual(10)
        for (let i = below(4); i > 0; i--) waiting()[below(12)]?.leave()
        await settled()
        await advance(below(3) === 0 ? below(900) : below(150))
      }
      await advance(20 * INTERVAL_MS)
      expect(gaps().length).toBeGreaterThan(20)
      expect(Math.min(...gaps())).toBeGreaterThanOrEqual(INTERVAL_MS)
    },
  )
})
