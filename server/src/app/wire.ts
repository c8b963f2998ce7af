import { setTimeout as pause } from 'node:timers/promises'
import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import { adminServer } from '../edge/admin/admin-server.ts'
import { keyHashOf } from '../quotas/book/key-hash.ts'
import { bothSinks, LiveQuotas, type QuotaOrigin } from '../quotas/book/live-quotas.ts'
import type { QuotaBook } from '../quotas/book/quota-book.ts'
import type { DoorName } from './doors/door.ts'
import { openDoors } from './doors/doors.ts'
import { listen, type Place, portOf, reachable } from './doors/listen.ts'
import type { ServiceStats } from './doors/service-stats.ts'
import { type FollowedRules, followRules } from './follow-rules.ts'
import { faultLog } from './log/fault-log.ts'
import type { Log } from './log/log.ts'
import { compatibilityLine } from './settings/compatibility.ts'
import type { Config } from './settings/config.ts'
import { requireFiles } from './settings/pem-files.ts'

/** A Service is a running Sluice. */
export interface Service {
  /** Where its doors can be reached from this machine, as `localhost:8080`. */
  readonly addresses: Readonly<Record<DoorName | 'admin', string>>
  /** Where counters live, for people. */
  readonly storeName: string
  /** The rules in force. */
  rules(): RuleSet
  /** The quotas in force; undefined where there is no origin of any. */
  readonly quotas: (() => QuotaBook) | undefined
  /** reload reads the rule files at once, and logs what came of it. */
  reload(): Promise<void>
  /** close says that it does not serve any more, answers what is under way, and ends. */
  close(): Promise<void>
  /** kill ends what would not end with this process. */
  kill(): void
  /** Rejects when the service cannot go on. */
  readonly failed: Promise<never>
}

/** startService joins everything the service is made of, and starts it: in this process, or in several. */
export async function startService(config: Config, log: Log, origin?: QuotaOrigin): Promise<Service> {
  for (const warning of config.warnings) log.warn('config.warning', warning)
  if (config.rules.length === 0) throw new SluiceError('RULES_MISSING', 'serve', 'nothing says where the rules are')
  if (config.compatibility !== undefined) log.info('config.compatibility', compatibilityLine(config.compatibility))
  return config.workers > 1 ? startWorkers(config, log, origin) : startAlone(config, log, origin)
}

/** placesOf says where each door listens. */
function placesOf({ host, httpPort, grpc }: Config): Readonly<Record<DoorName, Place>> {
  return {
    http: { host, port: httpPort },
    grpc: grpc.socketPath === undefined ? { host: grpc.host, port: grpc.port } : { path: grpc.socketPath },
  }
}

/** openAdmin opens the door for operators. It answers until the very end: that is when they look. */
async function openAdmin(config: Config, log: Log, rules: FollowedRules, stats: () => MaybePromise<ServiceStats>) {
  const sources = {
    rules: rules.current,
    stats: async () => [...Object.entries(await stats()), ...ruleStats(rules)],
    failed: faultLog(log),
  }
  const server = adminServer(sources, [config.adminHost, ...config.adminNames])
  const place = { host: config.adminHost, port: config.adminPort }
  await listen(server, place)
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return { address: reachable(portOf(server), place), close }
}

function ruleStats(rules: FollowedRules): [name: string, value: number][] {
  const { loads, refusals } = rules.counts()
  return [
    ['ratelimit.service.config_load_success', loads],
    ['ratelimit.service.config_load_error', refusals],
  ]
}

/** Undo is what to do when the next step of a start fails, in the opposite order. */
type Undo = (() => unknown)[]

/** starting takes back what was started when a step fails. */
async function starting<T>(start: (undo: Undo) => Promise<T>): Promise<T> {
  const undo: Undo = []
  try {
    return await start(undo)
  } catch (error) {
    for (const step of undo.reverse()) await step()
    throw error
  }
}

/** liveQuotasOf makes the book of a process that follows an origin. */
function liveQuotasOf(config: Config, origin: QuotaOrigin | undefined): LiveQuotas | undefined {
  return origin && new LiveQuotas({ hash: keyHashOf(origin.keySecret), entries: config.callerEntries })
}

function startAlone(config: Config, log: Log, origin?: QuotaOrigin): Promise<Service> {
  return starting(async (undo) => {
    const rules = await followRules(config, log)
    undo.push(rules.stop)
    const quotas = liveQuotasOf(config, origin)
    const unfollow = quotas && (await origin?.follow(quotas))
    if (unfollow !== undefined) undo.push(unfollow)
    const doors = openDoors(config, rules.current, log, quotas?.current)
    undo.push(() => doors.close())
    await doors.ready
    const places = placesOf(config)
    const http = await doors.all.http.listen(places.http)
    const grpc = await doors.all.grpc.listen(places.grpc)
    const admin = await openAdmin(config, log, rules, doors.reports.stats)
    return {
      addresses: { grpc, http, admin: admin.address },
      storeName: doors.storeName,
      rules: rules.current,
      quotas: quotas?.current,
      reload: rules.reload,
      close: async () => {
        rules.stop()
        unfollow?.()
        doors.notServing()
        if (config.drainDelayMs > 0) await pause(config.drainDelayMs)
        log.info('drain.closing', 'taking no new connections, answering what is under way')
        await doors.close()
        admin.close()
      },
      kill: () => {},
      failed: new Promise<never>(() => {}),
    }
  })
}

function startWorkers(config: Config, log: Log, origin?: QuotaOrigin): Promise<Service> {
  requireFiles(config)
  return starting(async (undo) => {
    const { Primary } = await import('./workers/primary.ts')
    const primary = new Primary(config, log, () => rules.origin(), origin?.keySecret)
    primary.prepare()
    undo.push(() => primary.kill())
    const rules = await followRules(config, log, (origin) => primary.applyRules(origin))
    const quotas = liveQuotasOf(config, origin)
    const unfollow = quotas && (await origin?.follow(bothSinks(quotas, primary.quotas)))
    undo.push(
      rules.stop,
      () => unfollow?.(),
      () => primary.stop(),
      () => primary.kill(),
    )
    const places = placesOf(config)
    const http = await primary.listen('http', places.http)
    const grpc = await primary.listen('grpc', places.grpc)
    const admin = await openAdmin(config, log, rules, () => primary.stats())
    undo.push(admin.close)
    await primary.start()
    return {
      addresses: { grpc, http, admin: admin.address },
      storeName: primary.storeName,
      rules: rules.current,
      quotas: quotas?.current,
      reload: rules.reload,
      close: async () => {
        rules.stop()
        unfollow?.()
        await primary.stop()
        admin.close()
      },
      kill: () => primary.kill(),
      failed: primary.failed,
    }
  })
}
