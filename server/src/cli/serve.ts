import { createLog, type Log } from '../app/log/log.ts'
import { type Config, readConfig } from '../app/settings/config.ts'
import { packageVersion } from '../app/settings/package-file.ts'
import { rulePlaces } from '../app/settings/remote-rules.ts'
import { secretsOf } from '../app/settings/secrets.ts'
import { type Service, startService } from '../app/wire.ts'
import { greeting } from './greeting.ts'

/** Runs the service until it is stopped (SIGTERM, SIGINT). SIGHUP reloads the rules. */
export async function serve(args: readonly string[]): Promise<void> {
  await run(readConfig(args, process.env))
}

/** Runs a service until it is stopped. */
export async function run(config: Config): Promise<void> {
  const isTerminal = process.stdout.isTTY === true
  const format = config.logFormat ?? (isTerminal || config.isExample ? 'text' : 'json')
  const log = createLog({ level: config.logLevel, format, isTerminal, secrets: secretsOf(config) })
  process.on('uncaughtException', (error) => crash(log, error))
  const stop = new AbortController()
  const starting = startService(config, log, undefined, stop.signal)
  // From here on: to a process that has not said yet what a signal means to it, it means the end.
  process.on('SIGHUP', () => void starting.then((service) => service.reload(), ignore))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stopper(starting, log, signal, stop))
  const service = await starting.catch((error: unknown) => {
    // It was waiting for its rules.
    if (!stop.signal.aborted) throw error
    return undefined
  })
  if (service === undefined) return leave(log)
  if (format === 'text') log.print(greeting(service, config))
  else logStart(service, config, log)
  if (process.env.NOTIFY_SOCKET) void notifySystemd(service, log)
  // The service fails only when its workers cannot be kept running.
  await service.failed.catch(async (error: unknown) => {
    service.kill()
    await service.close()
    throw error
  })
}

function ignore(): void {}

/** Notifies systemd when the service is ready, and later when it ends. Loaded only under systemd. */
async function notifySystemd({ ready }: Service, log: Log): Promise<void> {
  const { SystemdNotices } = await import('../app/systemd/systemd-notices.ts')
  const notices = new SystemdNotices(process.env, log)
  void ready.then(() => notices.ready())
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => notices.stopping())
}

/** Says in one record what the greeting says to people. */
function logStart({ addresses, storeName, rules }: Service, config: Config, log: Log): void {
  const doors = Object.entries(addresses)
    .filter(([, address]) => address !== '')
    .map(([door, address]) => `${door} ${address}`)
  log.info('service.started', `sluice ${packageVersion()} is listening: ${doors.join(', ')}`, {
    version: packageVersion(),
    pid: process.pid,
    ...addresses,
    counters: storeName,
    workers: config.workers,
    limits: rules().ruleCount,
    domains: rules().domains.size,
    rules: rulePlaces(config),
  })
}

let signals = 0

/** Returns what to do on a signal: the first one drains, the second stops immediately. */
function stopper(
  starting: Promise<Service>,
  log: Log,
  signal: 'SIGTERM' | 'SIGINT',
  stop: AbortController,
): () => void {
  const exitCode = 128 + (signal === 'SIGTERM' ? 15 : 2)
  return () => {
    signals++
    if (signals > 1) {
      log.warn('service.killed', `${signal} again: stopping immediately`)
      void starting.then((service) => service.kill(), ignore)
      void log.end().then(() => process.exit(exitCode))
      return
    }
    log.info('drain.started', `${signal}: health says no from now on`)
    stop.abort()
    void starting.then(async (service) => {
      await service.close()
      if (signals > 1) return
      await leave(log)
    }, ignore)
  }
}

async function leave(log: Log): Promise<void> {
  // What is still being counted comes before the last line.
  await log.end()
  log.info('service.stopped', 'stopped')
  await log.end()
  process.exit(0)
}

function crash(log: Log, error: Error): void {
  log.error('service.fault', error.message, { stack: error.stack })
  void log.end().then(() => process.exit(1))
}
