import { once } from 'node:events'
import { request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach } from 'vitest'
import type { GateOptions } from '../http-door/gate.ts'

/** What a client got. */
export interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request that can be left, once the server has it. */
export interface Visit {
  /** Resolves when the server has noticed, so that what a middleware does about it has happened. */
  leave(): Promise<void>
}

/** Speaks to an app behind middlewares under test. */
export interface Client {
  /** Returns an answer when the server is done with it, so that what a middleware does at the end has happened. */
  get(path?: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Got>
  /** Opens a request whose answer the test does not wait for. */
  visit(path: string, headers?: Readonly<Record<string, string>>): Visit
  close(): Promise<void>
}

/** Options for a request of any framework. */
export type SuiteOptions = GateOptions<unknown>

export interface Limiter {
  reset(caller: { readonly ip?: string; readonly apiKey?: string }): Promise<void>
  close(): Promise<void>
}

export interface StartedAdapter extends Client {
  readonly limiters: readonly Limiter[]
}

/** Starts apps with the routes of Routes behind limiters, the first one outside. */
export interface AdapterUnderTest {
  readonly name: string
  start(limiters: readonly SuiteOptions[], routes: Routes): Promise<StartedAdapter>
  /** Why limiters of this adapter cannot forget a caller, if they cannot. */
  readonly cannotReset?: string
  /** What the framework adds to the type of JSON. */
  readonly jsonCharset?: string
  /** Reads a field of a request of the framework. */
  header(request: unknown, name: string): string | undefined
}

/**
 * What the apps under test do: / answers 200, /settle settles a cost of 5, /error answers 400, /throw fails, /hang
 * never answers, /work answers and /stream goes on when `finish` is called.
 */
export class Routes {
  hanging = 0
  working = 0
  streaming = 0
  #finish: () => void = () => {}
  readonly finished = new Promise<void>((resolve) => {
    this.#finish = resolve
  })

  finish(): void {
    this.#finish()
  }

  /** Returns what /work does before it answers. */
  async work(): Promise<string> {
    this.working++
    await this.finished
    return 'done'
  }

  async *chunks(): AsyncGenerator<string> {
    this.streaming++
    yield 'Hi '
    await this.finished
    yield 'there!'
  }

  /** Returns what /stream answers with. */
  stream(): ReadableStream<Uint8Array> {
    const chunks = this.chunks()
    const encoder = new TextEncoder()
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
    })
  }
}

/** Makes a client for a server of Node.js, which it starts. `closed` is called when the server has closed. */
export async function serveHttp(server: Server, closed: () => unknown = () => {}): Promise<Client> {
  let visits = 0
  const ends = new Map<string, () => void>()
  const count = (): [visit: string, ended: Promise<void>] => {
    const visit = String(++visits)
    return [visit, new Promise<void>((resolve) => void ends.set(visit, resolve))]
  }
  server.prependListener('request', (request, response) => {
    response.once('close', () => setImmediate(() => ends.get(String(request.headers['x-visit']))?.()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    get: async (path = '/', headers = {}, method = 'GET') => {
      const [visit, ended] = count()
      const url = `http://127.0.0.1:${port}${path}`
      const response = await fetch(url, { headers: { ...headers, 'x-visit': visit }, method, redirect: 'manual' })
      const got = await gotOf(response)
      await ended
      return got
    },
    visit: (path, headers = {}) => {
      const [visit, ended] = count()
      const options = { host: '127.0.0.1', port, path, headers: { ...headers, 'x-visit': visit }, agent: false }
      const request = httpRequest(options)
      request.on('error', () => {})
      request.on('response', (response) => response.on('error', () => {}).resume())
      request.end()
      return {
        leave: () => {
          request.destroy()
          return ended
        },
      }
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      await closed()
    },
  }
}

/** Reads a response to its end. */
export async function gotOf(response: Response): Promise<Got> {
  const { status, headers } = response
  return { status, headers: Object.fromEntries(headers), body: await response.text() }
}

/** Starts apps of an adapter, one at a time, and stops what a test has left running. */
export interface Runner {
  readonly routes: Routes
  readonly running: StartedAdapter
  start(...limiters: readonly SuiteOptions[]): Promise<Client['get']>
  stop(): Promise<void>
}

export function runnerOf(adapter: AdapterUnderTest): Runner {
  let running: StartedAdapter | undefined
  let routes = new Routes()
  const stop = async (): Promise<void> => {
    await running?.close()
    await Promise.all(running?.limiters.map((limiter) => limiter.close()) ?? [])
    running = undefined
  }
  afterEach(stop)
  return {
    get routes() {
      return routes
    },
    get running() {
      if (running === undefined) throw new Error('no app is running')
      return running
    },
    start: async (...limiters) => {
      routes = new Routes()
      running = await adapter.start(limiters, routes)
      return running.get
    },
    stop,
  }
}
