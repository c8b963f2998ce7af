import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import type { DoorName } from '../doors/door.ts'
import { logTo } from '../log/log.ts'
import { readConfig } from '../settings/config.ts'
import type { ToWorker } from './messages.ts'
import { Primary } from './primary.ts'
import type { Connection, WorkerEvents } from './worker-process.ts'

const { FakeWorker } = vi.hoisted(() => {
  /** A worker without a process: the test says when it is ready, and when it ends. */
  class FakeWorker {
    static all: FakeWorker[] = []
    readonly id: number
    readonly #events: WorkerEvents
    readonly sent: ToWorker['type'][] = []
    readonly given: Connection[] = []
    grpcConnections = 0
    state = 'starting'
    inForce = { revision: -1, rules: 0 }
    #end = (): void => {}
    readonly ended = new Promise<void>((resolve) => {
      this.#end = resolve
    })

    constructor(id: number, events: WorkerEvents) {
      this.id = id
      this.#events = events
      FakeWorker.all.push(this)
    }

    open(door: DoorName): number {
      return door === 'grpc' ? this.grpcConnections : this.given.length
    }

    send({ type }: ToWorker): void {
      this.sent.push(type)
      if (type === 'drain') this.kill()
    }

    give(connection: Connection): void {
      this.given.push(connection)
    }

    untaken(): readonly Connection[] {
      return this.given
    }

    /** Says that somebody else told it to end. */
    leave(): void {
      this.#events.received(this as never, { type: 'leaving' })
    }

    decideBy(revision: number, rules: number): void {
      this.#events.received(this as never, { type: 'in-force', inForce: { revision, rules } })
    }

    becomeReady(): void {
      this.#events.received(this as never, { type: 'ready', storeName: 'memory' })
    }

    kill(): void {
      this.#events.ended(this as never, 'signal SIGKILL')
      this.#end()
    }
  }
  return { FakeWorker }
})

vi.mock('./worker-process.ts', () => ({ WorkerProcess: FakeWorker }))

const logged: string[] = []
/** What the primary has told of what is in force, as revisions and versions of rules. */
const inForce: string[] = []

/** Returns a primary with a number of workers that are not ready yet, and the port of its HTTP door. */
async function startPrimary(workers = 1, args: string[] = []) {
  const made = await makePrimary(workers, args)
  return { ...made, starting: made.primary.start() }
}

async function makePrimary(workers = 1, args: string[] = []) {
  const config = { ...readConfig(args, {}), workers }
  const primary = new Primary(
    config,
    logTo(({ event, message }) => logged.push(`${event}: ${message}`)),
    {
      origin: () => ({ inputs: [], parts: undefined }),
      inForce: ({ revision, rules }) => inForce.push(`${revision} ${rules}`),
    },
  )
  onTestFinished(() => primary.stop())
  FakeWorker.all = []
  logged.length = 0
  inForce.length = 0
  const address = await primary.listen('http', { host: '127.0.0.1', port: 0 })
  return { primary, port: Number(address.split(':')[1]), workers: FakeWorker.all }
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const isOpen = ({ readyState }: Socket): boolean => readyState === 'open'

describe('what is in force', () => {
  it('is what every worker has that answers requests', async () => {
    const { workers, starting } = await startPrimary(2)
    workers[0].decideBy(7, 2)
    workers[0].becomeReady()
    expect(inForce).toEqual([])
    workers[1].becomeReady()
    await starting
    workers[1].decideBy(6, 3)
    workers[1].decideBy(8, 3)
    expect(inForce).toEqual(['-1 0', '6 2', '7 2'])
    workers[0].leave()
    workers[2].decideBy(9, 4)
    expect(inForce.at(-1)).toBe('7 2')
    workers[2].becomeReady()
    await until('the first worker is gone', () => inForce.at(-1) === '8 3')
    workers[1].kill()
    expect(inForce.at(-1)).toBe('9 4')
  })

  it('is nothing while no worker answers requests', async () => {
    const { workers, starting } = await startPrimary(1)
    workers[0].decideBy(7, 2)
    workers[0].becomeReady()
    await starting
    workers[0].kill()
    expect(inForce).toEqual(['7 2', '-1 0'])
  })
})

describe('connections', () => {
  it('wait while no worker is ready, up to 1,024 of them', async () => {
    const { port, workers, starting } = await startPrimary()
    const sockets: Socket[] = []
    for (let i = 0; i < 1_030; i++) sockets.push(await connected(port))
    await until('the last ones are closed', () => !sockets.slice(1_024).some(isOpen))
    expect(sockets.filter(isOpen)).toHaveLength(1_024)
    workers[0].becomeReady()
    await starting
    expect(workers[0].given).toHaveLength(1_024)
  })

  it('wait at the start until all workers are ready, and are spread over them', async () => {
    const { port, workers, starting } = await startPrimary(2)
    workers[0].becomeReady()
    for (let i = 0; i < 4; i++) await connected(port)
    expect(workers[0].given).toHaveLength(0)
    workers[1].becomeReady()
    await starting
    await until('all are given', () => workers[0].given.length + workers[1].given.length === 4)
    expect(workers.map(({ given }) => given.length)).toEqual([2, 2])
  })

  it('go to another worker if theirs ends before it has them', async () => {
    const { port, workers, starting } = await startPrimary(2)
    for (const worker of workers) worker.becomeReady()
    await starting
    const socket = await connected(port)
    await until('it is given', () => workers.some(({ given }) => given.length === 1))
    const [taker, other] = workers[0].given.length === 1 ? workers : workers.toReversed()
    taker.kill()
    expect(other.given).toEqual(taker.given)
    expect(isOpen(socket)).toBe(true)
  })
})

/** Has intervals pass when the test says so. */
function patient(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('a worker', () => {
  it('that is prepared waits for the rules, and then starts with those in force', async () => {
    patient()
    const { primary, workers } = await makePrimary(2)
    primary.prepare()
    expect(workers).toHaveLength(2)
    primary.applyRules({ inputs: [], parts: undefined })
    workers[0].kill()
    await until('there is another in its place', () => workers.length === 3)
    vi.advanceTimersByTime(1_000_000)
    expect(workers.flatMap(({ sent }) => sent)).toEqual([])
    const starting = primary.start()
    expect(workers.map(({ sent }) => sent)).toEqual([[], ['start'], ['start']])
    workers[1].becomeReady()
    workers[2].becomeReady()
    await starting
    expect(workers).toHaveLength(3)
  })

  it('that hangs before it is ready is killed and replaced', async () => {
    patient()
    const { workers, starting } = await startPrimary()
    vi.advanceTimersByTime(61_000)
    expect(workers).toHaveLength(1)
    expect(logged).toEqual([])
    vi.advanceTimersByTime(6_100)
    expect(logged).toEqual([
      'worker.silent: worker 1 (process undefined) was not ready within 61000 ms, and is killed',
      'worker.crashed: worker 1 (process undefined) ended with signal SIGKILL, another takes its place',
    ])
    await until('there is another', () => workers.length === 2)
    workers[1].becomeReady()
    await starting
  })

  it('that is replaced and hangs before it is ready is killed too', async () => {
    patient()
    const { workers, starting } = await startPrimary()
    workers[0].becomeReady()
    await starting
    workers[0].kill()
    await until('there is another', () => workers.length === 2)
    vi.advanceTimersByTime(67_100)
    await until('there is a third', () => workers.length === 3)
  })

  it('is given time for its start, and then asked whether it is there', async () => {
    patient()
    const { workers, starting } = await startPrimary(1, ['--worker-timeout', '1s'])
    vi.advanceTimersByTime(60_000)
    workers[0].becomeReady()
    await starting
    expect(workers[0].sent).toEqual(['start'])
    vi.advanceTimersByTime(1_100)
    expect(logged.filter((line) => line.startsWith('worker.silent'))).toEqual([
      'worker.silent: worker 1 (process undefined) has not answered for 1000 ms, and is killed',
    ])
  })

  it('is waited for as long as it takes where nothing is to be killed', async () => {
    patient()
    await startPrimary(1, ['--worker-timeout', '0s'])
    vi.advanceTimersByTime(1_000_000)
    expect(logged).toEqual([])
  })

  it('that is stopped from outside continues until another has taken its place', async () => {
    const { workers, starting } = await startPrimary()
    const [first] = workers
    first.becomeReady()
    await starting
    first.leave()
    first.leave()
    expect(workers).toHaveLength(2)
    expect(first.sent).toEqual(['start'])
    workers[1].becomeReady()
    expect(first.sent).toEqual(['start', 'drain'])
    expect(workers).toHaveLength(2)
  })

  it('with more than its share of the gRPC connections sheds some when another is ready', async () => {
    const { workers, starting } = await startPrimary(2)
    for (const worker of workers) worker.becomeReady()
    await starting
    const [first, second] = workers
    second.grpcConnections = 6
    first.leave()
    workers[2].becomeReady()
    expect(workers.map(({ sent }) => sent.at(-1))).toEqual(['drain', 'shed', 'start'])
  })

  it('is not replaced any more when the service ends', async () => {
    const { primary, workers, starting } = await startPrimary(2, ['--drain-delay', '20ms'])
    for (const worker of workers) worker.becomeReady()
    await starting
    const stopped = primary.stop()
    const [first, second] = workers
    first.leave()
    second.kill()
    await stopped
    expect(first.sent).toEqual(['start', 'not-serving', 'drain'])
    expect(workers).toHaveLength(2)
  })
})
