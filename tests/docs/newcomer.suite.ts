import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { ENV, firstTokenOf, run, type Started, startWith } from '../cli/sluice-process.suite.ts'
import { root } from '../packages/project.suite.ts'
import { freePort } from '../servers/ports.mjs'
import { reapAtExit } from '../servers/reaper.mjs'
import type { RedisServer } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'
import { curlExample } from './curl.suite.ts'
import { readFilter, startStandIn } from './envoy.suite.ts'

/** What needs the registry, or a server that machines of tests do not have. The page says so. */
const NOT_RUN = /^(npm (init|install)|docker run .* redis|envoy -c envoy\.yaml$)/

/** A Newcomer follows the page, in a folder of their own and on ports that are free. */
export class Newcomer {
  readonly #dir = mkdtempSync(join(tmpdir(), 'sluice-tutorial-'))
  readonly #dataDir: string
  readonly #redis: RedisServer
  /** Where each port of the page is found. */
  readonly #addresses = new Map<string, string>()
  #apps: ChildProcess[] = []
  #service: Started | undefined
  #token = ''
  /** A change by the admin API is in force a moment later: the decision after it may have to be asked for again. */
  #isChanged = false
  #shown = ''
  /** Each caller of an app that is not ready yet has an address of its own: 127.0.0.2 and so on. */
  #callers = 2

  constructor(redis: RedisServer, dataDir: string) {
    this.#redis = redis
    this.#dataDir = dataDir
    symlinkSync(join(root, 'node_modules'), join(this.#dir, 'node_modules'))
  }

  async save(file: string, text: string): Promise<void> {
    if (file === 'app.mjs') this.#stopApps()
    const path = join(this.#dir, file)
    mkdirSync(dirname(path), { recursive: true })
    // The page gives Redis a second, which a machine that is busy with other tests may need.
    const patient = text.replaceAll('redisTimeoutMs: 1000', 'redisTimeoutMs: 60_000')
    writeFileSync(path, patient.replaceAll('redis://localhost:6379', this.#redis.url))
    if (file === 'envoy.yaml') await this.#startEnvoy(text)
  }

  async type(line: string): Promise<void> {
    const words = line.split(' ')
    const env = Object.fromEntries(words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('=')))
    const command = words.slice(Object.keys(env).length).join(' ')
    if (NOT_RUN.test(command)) return
    if (command === 'node app.mjs') await this.#startApp(env.PORT ?? '3000')
    else if (command.startsWith('sluice serve ')) await this.#serve(env, command)
    else if (command.startsWith('sluice ')) this.#shown = run(command.split(' ').slice(1), { cwd: this.#dir }).stdout
    else if (command.startsWith('curl ')) await this.#curl(command)
    else throw new Error(`the page has a command that nobody runs: ${command}`)
  }

  /** Compares what the page shows with what there was, but for numbers, which are of the moment. */
  sees(text: string): void {
    const lines = (of: string): string[] => of.replaceAll(/\d+/g, 'N').trim().split('\n')
    for (const line of lines(text)) expect(lines(this.#shown)).toContain(line)
  }

  leave(): void {
    this.#stopApps()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #stopApps(): void {
    for (const app of this.#apps.splice(0)) app.kill('SIGKILL')
  }

  async #startApp(port: string): Promise<void> {
    const own = await freePort()
    const env = { ...ENV, PORT: String(own) }
    const app = spawn(process.execPath, ['app.mjs'], { cwd: this.#dir, env, stdio: 'inherit' })
    reapAtExit(app)
    this.#apps.push(app)
    const isShared = readFileSync(join(this.#dir, 'app.mjs'), 'utf8').includes(this.#redis.url)
    // Others call until the app answers and, where it counts in Redis, has counted one of them there: before it is
    // connected, it counts by itself.
    await until(`the app for port ${port} is ready`, async () => {
      const caller = `127.0.${this.#callers >> 8}.${this.#callers & 255}`
      await call(own, caller)
      this.#callers++
      if (!isShared) return true
      const keys = (await this.#redis.call('KEYS', `*ip=${caller}|*`)) as string[]
      return keys.length > 0
    })
    this.#addresses.set(port, `http://127.0.0.1:${own}`)
  }

  async #serve(env: Record<string, string>, command: string): Promise<void> {
    this.#service?.child.kill('SIGKILL')
    const args = command
      .replace('redis://localhost:6379', this.#redis.url)
      .replace('--redis-timeout 1s', '--redis-timeout 60s')
      .replace('--rules rules/', `--rules ${join(this.#dir, 'rules')}`)
      .replace('--data .sluice', `--data ${this.#dataDir}`)
      .split(' ')
    this.#service = await startWith(env, ...args.slice(2))
    await this.#service.printed('connected to redis')
    this.#addresses.set('8080', this.#service.url).set('8082', this.#service.admin)
    if (!command.includes('--data')) return
    this.#token = await firstTokenOf(this.#service)
    await this.#service.printed('quotas are in force')
  }

  async #startEnvoy(text: string): Promise<void> {
    const filter = readFilter(text)
    expect(filter.limiterPort).toBe('8081')
    const app = this.#addresses.get(filter.appPort)
    if (app === undefined) throw new Error(`no app runs on port ${filter.appPort}, to which envoy.yaml leads`)
    const address = await startStandIn(filter, app, () => this.#service?.grpc ?? '')
    this.#addresses.set(filter.listenerPort, address)
  }

  async #curl(command: string): Promise<void> {
    const { url, request, status, text } = curlExample(command, this.#addresses, this.#token)
    const ask = async (): Promise<[number, string]> => {
      const response = await fetch(url, request)
      const body = await response.text()
      const fields = [...response.headers].map(([name, value]) => `${encoded(name)}: ${value}`)
      this.#shown = [`HTTP/1.1 ${response.status} ${response.statusText}`, ...fields, '', body].join('\n')
      return [response.status, body]
    }
    const isAdmin = url.includes('/admin/')
    if (!isAdmin && this.#isChanged) await until(`${status}: ${command}`, async () => (await ask())[0] === status)
    else expect(await ask(), command).toEqual([status, expect.stringContaining(text)])
    this.#isChanged = isAdmin && request.method === 'POST'
  }
}

/** spelled writes the name of a field as the middleware does; fetch has them in lower case. */
const encoded = (name: string): string =>
  name
    .replaceAll(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())
    .replace('Ratelimit', 'RateLimit')

/** Sends a request from an address of this machine, and waits for the answer. */
function call(port: number, localAddress: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get({ port, localAddress, host: '127.0.0.1' }, (response) => response.resume().once('end', resolve)).once(
      'error',
      reject,
    )
  })
}
