import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { startApp } from '../../server/src/app/gateway/gateway.suite.ts'
import { readGatewayConfig } from '../../server/src/app/settings/gateway-settings.ts'
import type { FromWorker, ToWorker } from '../../server/src/app/workers/messages.ts'
import { reapAtExit } from '../servers/reaper.mjs'

const MAIN = fileURLToPath(new URL('../../server/dist/app/workers/worker-main.js', import.meta.url))

/** A worker whose primary is the test. */
class Worker {
  readonly #child: ChildProcess
  readonly #received: FromWorker[] = []

  constructor() {
    this.#child = fork(MAIN, [], { serialization: 'advanced', execArgv: [] })
    reapAtExit(this.#child)
    onTestFinished(async () => {
      const ended = once(this.#child, 'exit')
      if (this.#child.kill('SIGKILL')) await ended
    })
    this.#child.on('message', (message) => this.#received.push(message as FromWorker))
  }

  send(...messages: readonly ToWorker[]): void {
    for (const message of messages) this.#child.send(message)
  }

  async answer<Type extends FromWorker['type']>(type: Type): Promise<Extract<FromWorker, { type: Type }>> {
    for (;;) {
      const found = this.#received.find((message) => message.type === type)
      if (found !== undefined) return found as Extract<FromWorker, { type: Type }>
      await once(this.#child, 'message')
    }
  }

  /** Opens a port whose connections it gets, and returns the address. */
  async listen(): Promise<string> {
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      this.#child.send({ type: 'connection', door: 'gateway', number: 0 } satisfies ToWorker, socket)
    })
    server.listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
}

it('a worker acts on what its primary sends while it opens its doors', async () => {
  const [before, after] = await Promise.all(
    ['before', 'after'].map((name) => startApp((_, response) => response.end(name))),
  )
  const routesTo = (app: string) => ({ file: 'gateway.yaml', text: `upstreams: { app: ${app} }\nlimits: [100/1h]\n` })
  const config = { ...readGatewayConfig(['--to', before, '--limit', '100/1h', '--hot-keys', 'off'], {}), workers: 2 }
  const health = { unready: 'the records have not arrived', degraded: '' }
  const worker = new Worker()
  worker.send(
    { type: 'start', id: 1, config, inputs: [], health, routes: routesTo(before), quotas: undefined },
    { type: 'routes', input: routesTo(after) },
    { type: 'health', health: { unready: '', degraded: 'the records are late' } },
    { type: 'not-serving' },
  )
  await worker.answer('ready')
  expect(await (await fetch(await worker.listen())).text()).toBe('after')
  worker.send({ type: 'ask', question: 1, name: 'unready' })
  expect(await worker.answer('report')).toEqual({ type: 'report', question: 1, report: 'draining' })
})
