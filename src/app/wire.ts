import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SluiceError } from '../core/errors.ts'
import { RulesError } from '../core/rules/problems.ts'
import type { RuleSet } from '../core/rules/rule-set.ts'
import { checkServer } from '../edge/check/check-server.ts'
import { Limiter } from '../engine/limiter.ts'
import { LiveRules } from '../engine/live-rules.ts'
import { RuleWatcher } from '../sources/rule-watcher.ts'
import type { Config } from './config.ts'
import { drainable } from './drain.ts'
import { openStore } from './open-store.ts'

/** A Service is a running Sluice. */
export interface Service {
  /** Where the HTTP door can be reached from this machine. */
  readonly url: string
  /** Where counters live, for people. */
  readonly storeName: string
  /** The rules in force. */
  rules(): RuleSet
  /** reload reads the rule files at once. */
  reload(): Promise<boolean>
  /** close stops listening, answers what is under way, and ends. */
  close(): Promise<void>
}

/** What a Service tells while it runs. */
export interface ServiceEvents {
  rulesLoaded(rules: RuleSet): void
  rulesRefused(error: RulesError): void
  /** Something about the store that an operator wants to know. */
  storeTold(line: string): void
}

/** startService joins everything the service is made of, and starts it. Rules that are wrong keep it from starting. */
export async function startService(config: Config, events: ServiceEvents): Promise<Service> {
  let refusal: RulesError | undefined
  const live = new LiveRules(config, {
    loaded: events.rulesLoaded,
    refused: (error) => {
      refusal = error
      if (isRunning) events.rulesRefused(error)
    },
  })
  let isRunning = false
  const watcher = new RuleWatcher(config.rules, live)
  if (!(await watcher.start())) {
    watcher.stop()
    throw refusal ?? new RulesError([])
  }
  isRunning = true
  const { store, parts, name } = openStore(config.redisUrl, config.secret, events.storeTold)
  const server = checkServer(new Limiter(live.current, store, parts))
  const drain = drainable(server)
  await listen(server, config.httpPort, config.host).catch(async (error: unknown) => {
    watcher.stop()
    await store.close()
    throw error
  })
  return {
    url: `http://${reachable(config.host, (server.address() as AddressInfo).port)}`,
    storeName: name,
    rules: live.current,
    reload: () => watcher.reload(),
    close: async () => {
      watcher.stop()
      await drain()
      await store.close()
    },
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const reason = REASONS.get(code ?? '')
      const detail = reason === undefined ? message : `${reason} (${code})`
      reject(new SluiceError('PORT_UNAVAILABLE', authority(host, port), detail))
    })
    server.listen(port, host, resolve)
  })
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'something else listens there'],
  ['EACCES', 'this user may not listen there'],
  ['EADDRNOTAVAIL', 'this machine does not have that address'],
  ['ENOTFOUND', 'there is no host of that name'],
])

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

function reachable(host: string, port: number): string {
  return authority(EVERY_ADDRESS.has(host) ? 'localhost' : host, port)
}

function authority(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
