import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Anchor } from '../../quotas/audit/anchor.ts'
import { AnchorKeeper } from '../../quotas/audit/anchor-keeper.ts'
import type { Quotas } from '../../quotas/open/open-quotas.ts'
import { requirePackage } from '../../quotas/optional-package.ts'
import type { AuditSink } from '../../quotas/sinks/audit-sink.ts'
import { connectKafka, KAFKA_PACKAGE } from '../../quotas/sinks/kafka-producer.ts'
import { KafkaSink } from '../../quotas/sinks/kafka-sink.ts'
import { SinkRunner } from '../../quotas/sinks/sink-runner.ts'
import { Leases } from '../../quotas/tables/leases.ts'
import type { UsageCount } from '../../quotas/tables/usage-store.ts'
import type { UsageNews } from '../../quotas/usage/usage-news.ts'
import { UsagePages } from '../../quotas/usage/usage-pages.ts'
import { UsageProgress } from '../../quotas/usage/usage-progress.ts'
import { UsageWriter } from '../../quotas/usage/usage-writer.ts'
import { CrossingQueue } from '../../quotas/webhooks/crossing-queue.ts'
import { SealedSecrets } from '../../quotas/webhooks/sealed-secrets.ts'
import { type DeliveryOutcome, WebhookCourier } from '../../quotas/webhooks/webhook-courier.ts'
import { WebhookStore } from '../../quotas/webhooks/webhook-store.ts'
import { forgetOldWebhooks } from '../../quotas/webhooks/webhook-upkeep.ts'
import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import { FileSink } from './file-sink.ts'
import { UsageMetrics } from './usage-metrics.ts'

/** How often usage is written, and webhooks that are due are looked for. */
const WRITE_EVERY_MS = 1_000
/** How long the end of the service waits for the database, for a webhook, and for a sink. */
const CLOSE_MS = 5_000
const UPKEEP_EVERY_MS = 3_600_000
const BYTES_A_MIB = 1_048_576

export interface UsageParts {
  readonly quotas: Pick<Quotas, 'db' | 'audit' | 'usage' | 'keys'>
  readonly config: Pick<Config, 'webhooksPrivate' | 'auditFile' | 'auditKafka'>
  readonly log: Log
  readonly now?: () => number
}

/** What a node does once with usage, webhooks and the audit log, however many processes it has. */
export interface NodeUsage {
  /** Call `began` for a process before it counts anything, and `ended` when it reports no more. */
  began(process: object): void
  ended(process: object): void
  /** Takes what a process reports. It never waits. */
  take(news: UsageNews, process: object): void
  /** Everything that was counted before is written. */
  untilMs(): number
  /** For the admin API. */
  readonly webhooks: WebhookStore
  readonly pages: UsagePages
  /** Yields what was counted and not written yet. */
  waiting(): Iterable<UsageCount>
  /** For NodeMetrics. */
  readonly metrics: UsageMetrics
  /** Continues in a file of the same name, whatever became of the previous one. */
  reopen(): Promise<void>
  /** Writes everything that was taken, within seconds. By then, every process has reported its last counts. */
  close(): Promise<void>
}

/** Throws where a setting needs a package that is not installed. */
export function requireUsagePackages({ auditKafka }: Pick<Config, 'auditKafka'>): void {
  if (auditKafka !== undefined) requirePackage(KAFKA_PACKAGE)
}

/** Starts to write usage, to send webhooks, and to copy the audit log to its sinks. */
export function openUsage({ quotas, config, log, now = Date.now }: UsageParts): NodeUsage {
  const { db, audit, usage, keys } = quotas
  const leases = new Leases(db, `${hostname()} ${randomUUID()}`)
  const progress = new UsageProgress(now)
  const writer = new UsageWriter(usage, {
    events: writerEvents(log, () => writer.figures.dropped),
    nowMs: now,
    takenUntilMs: () => progress.untilMs,
  })
  const sealed = new SealedSecrets(() => keys.keyFor('webhook secrets'))
  const allowPrivate = config.webhooksPrivate
  const webhooks = new WebhookStore({ db, audit, sealed, now, allowPrivate })
  const crossings = new CrossingQueue(db, now)
  const file = fileSinkOf(config)
  const sinks = [file, kafkaSinkOf(config)].filter((sink) => sink !== undefined)
  const runners = sinks.map((sink) => new SinkRunner(sink, { db, audit, leases, events: sinkEvents(log, sink) }))
  const keeper = new AnchorKeeper(audit, anchorEvents(log))
  const metrics = new UsageMetrics(writer, runners, keeper)
  const courier = new WebhookCourier({
    db,
    sealed,
    now,
    allowPrivate,
    disable: (id, reason, by) => webhooks.disable(id, reason, by),
    ended: (outcome, id, error) => {
      metrics.ended(outcome)
      logDelivery(log, outcome, id, error)
    },
  })
  const working = everySecond(async () => {
    await writer.write()
    await crossings.write()
    await courier.work()
  })
  const upkeep = setInterval(() => void keepUp(quotas, leases, now).catch(() => {}), UPKEEP_EVERY_MS).unref()
  for (const runner of [...runners, keeper]) runner.start()
  return {
    webhooks,
    metrics,
    pages: new UsagePages(db),
    waiting: () => writer.waiting(),
    began: (process) => progress.began(process),
    ended: (process) => progress.ended(process),
    untilMs: () => writer.untilMs,
    take(news, process) {
      writer.take(news)
      progress.reported(process, news.untilMs)
      crossings.take(news.crossings)
    },
    reopen: async () => file?.reopen(),
    async close() {
      clearInterval(upkeep)
      await within(CLOSE_MS, async () => {
        await working.stop()
        await writer.finish()
        await crossings.write()
      })
      const { waiting } = writer.figures
      if (waiting > 0)
        log.error('usage.lost', `${waiting} rows of usage could not be written, and are lost`, { waiting })
      await within(CLOSE_MS, () => Promise.all([courier.close(), ...[...runners, keeper].map((each) => each.close())]))
    },
  }
}

/**
 * Does something every second, unless it is still running. What fails is retried in the next second; the writer and
 * others report that the database is unavailable. `stop` waits for the current run.
 */
function everySecond(work: () => Promise<void>): { stop(): Promise<void> } {
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= work()
      .catch(() => {})
      .finally(() => {
        running = undefined
      })
  }, WRITE_EVERY_MS).unref()
  return {
    stop: async () => {
      clearInterval(timer)
      await running
    },
  }
}

function logDelivery(log: Log, outcome: DeliveryOutcome, id: string, error: string | undefined): void {
  if (outcome === 'failed') log.warn('webhook.failed', `a webhook was given up: ${error}`, { webhook: id })
  if (outcome === 'gone')
    log.warn('webhook.gone', 'a webhook says that it is gone, and is switched off', { webhook: id })
}

/** Sums old hours up to days, and removes what is no longer needed. One node does it once an hour. */
async function keepUp({ db, usage }: Pick<Quotas, 'db' | 'usage'>, leases: Leases, now: () => number): Promise<void> {
  if (!(await leases.take('upkeep', UPKEEP_EVERY_MS - WRITE_EVERY_MS))) return
  await usage.rollUp()
  await forgetOldWebhooks(db, now())
}

function fileSinkOf({ auditFile }: UsageParts['config']): FileSink | undefined {
  if (auditFile === undefined) return undefined
  const { path, maxMib, files: keep } = auditFile
  return new FileSink({ path, maxBytes: maxMib * BYTES_A_MIB, keep }, hostname())
}

function kafkaSinkOf({ auditKafka }: UsageParts['config']): KafkaSink | undefined {
  return auditKafka && new KafkaSink(auditKafka.topic, () => connectKafka(auditKafka))
}

function writerEvents(log: Log, dropped: () => number) {
  return {
    failed: (error: unknown) =>
      log.warn('usage.failed', `usage cannot be written, and waits in memory: ${messageOf(error)}`),
    recovered: () => log.info('usage.recovered', 'usage is written again', { dropped: dropped() }),
    dropping: () => log.error('usage.dropped', 'too much usage waits to be written: the oldest is dropped'),
  }
}

function sinkEvents(log: Log, { kind, name }: AuditSink) {
  const fields = { sink: name }
  return {
    failed: (reason: string) =>
      log.error(
        'audit.sink_failed',
        `the audit log does not get to the ${kind}, and waits in the database: ${reason}`,
        {
          ...fields,
          reason,
        },
      ),
    recovered: () => log.info('audit.sink_recovered', `the audit log gets to the ${kind} again`, fields),
    ahead: (has: number, head: number) =>
      log.error('audit.sink_ahead', `the ${kind} has entries of the audit log that the database does not`, {
        ...fields,
        has,
        head,
      }),
  }
}

function anchorEvents(log: Log) {
  const fields = ({ name }: Anchor) => ({ anchor: name })
  return {
    failed: (anchor: Anchor, reason: string) =>
      log.error('audit.anchor_failed', `the end of the audit log does not get to ${anchor.name}: ${reason}`, {
        ...fields(anchor),
        reason,
      }),
    recovered: (anchor: Anchor) =>
      log.info('audit.anchor_recovered', `the end of the audit log gets to ${anchor.name} again`, fields(anchor)),
    ahead: (anchor: Anchor) =>
      log.error(
        'audit.anchor_ahead',
        `${anchor.name} knows an entry that the audit log does not have, and stays as it is: see sluice audit verify`,
        fields(anchor),
      ),
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Resolves when the work is done or has failed, or after a while. */
async function within(ms: number, work: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([over, work().catch(() => {})])
  clearTimeout(timer)
}
