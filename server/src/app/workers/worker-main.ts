import type { Socket } from 'node:net'
import { SluiceError } from 'sluice/internal/core/errors'
import type { CompileOptions } from 'sluice/internal/core/rules/compile'
import type { RuleInput } from 'sluice/internal/core/rules/load'
import type { RulePart } from 'sluice/internal/core/rules/packed-rules'
import type { GatewayPlan } from '../../edge/gateway-rules/file/compile-routes.ts'
import { type InForce, NOTHING_IN_FORCE, tableVersionIn } from '../../quotas/book/in-force.ts'
import { hashApiKey } from '../../quotas/tables/api-key-hash.ts'
import type { UsageNews } from '../../quotas/usage/usage-news.ts'
import type { DoorName } from '../doors/door.ts'
import { type Doors, openDoors } from '../doors/doors.ts'
import { logTo } from '../log/log.ts'
import { PassedOverLog } from '../quotas/passed-over-log.ts'
import { compileOptionsOf } from '../settings/compatibility.ts'
import type { Config } from '../settings/config.ts'
import { openTraces } from '../traces/open-traces.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import type { QuotaNews } from './quota-feed.ts'
import { WorkerQuotas } from './worker-quotas.ts'
import { WorkerRules } from './worker-rules.ts'

/**
 * A worker answers requests on connections that the primary hands to it. It has no port, no rule files and no log of its
 * own: all of these come from the primary, and go there.
 */

function tell(message: FromWorker, then: () => void = () => {}): void {
  // Without the primary there is nobody to tell anything, and the end is near.
  if (!process.connected || process.send === undefined) then()
  else process.send(message, undefined, undefined, then)
}

const log = logTo((entry) => tell({ type: 'log', entry }))
let doors: Doors | undefined
const rules = new WorkerRules((version, at) => tell({ type: 'rule-part', version, at }))
let quotas: WorkerQuotas | undefined
let passedOver: PassedOverLog | undefined
/** Known from the first set on. Each set has a book of its own, which remembers nothing of an older one. */
let keySecret = ''
let options: CompileOptions = {}
let isLeaving = false
/** The versions of the rules in the database: of those in force, and of those that come in parts. */
const tables = { inForce: 0, announced: 0 }
let told: InForce = NOTHING_IN_FORCE
/** Reads routes, where this worker has a gateway. */
let planOf: ((input: RuleInput) => GatewayPlan) | undefined

/** Gives lines of the decision log to the primary, which alone writes them. */
function send(text: string): Promise<void> {
  return new Promise((resolve) => tell({ type: 'decisions', text }, resolve))
}

/** Gives what customers used to the primary, which keeps it. */
function tellUsage(news: UsageNews): Promise<void> {
  return new Promise((resolve) => tell({ type: 'usage', news }, resolve))
}

/** Tells the primary what this worker decides by, when that is news. */
function tellInForce(): void {
  const inForce = { revision: quotas?.revision ?? -1, rules: tables.inForce }
  if (inForce.revision === told.revision && inForce.rules === told.rules) return
  told = inForce
  tell({ type: 'in-force', inForce })
}

async function start({
  config,
  inputs,
  health,
  routes,
  quotas: first,
}: Extract<ToWorker, { type: 'start' }>): Promise<void> {
  options = compileOptionsOf(config.mergeDomains, config.compatibility)
  useRules(inputs)
  if (first !== undefined) {
    passedOver = new PassedOverLog(log)
    const hash = (key: string): string => hashApiKey(keySecret, key)
    const bookOptions = { hash, entries: config.callerEntries, passOver: passedOver.hear }
    quotas = new WorkerQuotas(bookOptions, (version, at) => tell({ type: 'quota-part', version, at }))
    hearQuotas(first)
  }
  const traces = await openTraces(config, log)
  doors = openDoors(config, rules.current, log, {
    traces,
    decisions: send,
    quotas: quotas?.current,
    gateway: routes && (await openGateway(config, routes)),
    passedOver,
    usage: tellUsage,
  })
  doors.hear(health)
  const { storeName, ready } = doors
  // Without the quotas, who is blocked would pass.
  await Promise.all([ready, quotas?.arrived])
  tellInForce()
  tell({ type: 'ready', storeName })
}

/** Loads what only a gateway needs. */
async function openGateway(config: Config, routes: RuleInput) {
  const { gatewayDoor } = await import('../doors/gateway-door.ts')
  planOf = (await import('../gateway/read-routes.ts')).readRoutes
  return gatewayDoor(config, planOf(routes), log)
}

function applyRules(inputs: readonly RuleInput[], routes: RuleInput | undefined): void {
  useRules(inputs)
  setRoutes(routes)
  doors?.rulesChanged()
  tellInForce()
}

function useRules(inputs: readonly RuleInput[]): void {
  rules.apply(inputs, options)
  tables.inForce = tableVersionIn(inputs)
}

/**
 * Has the gateway go by routes, in this very turn: no request is to meet rules of one version and routes of another.
 */
function setRoutes(routes: RuleInput | undefined): void {
  if (routes !== undefined && planOf !== undefined) doors?.setRoutes(planOf(routes))
}

function takePart(version: number, part: RulePart): void {
  if (rules.take(version, part)) tables.inForce = tables.announced
  doors?.rulesChanged()
  tellInForce()
}

function take(door: DoorName, number: number, socket: Socket | undefined): void {
  tell({ type: 'taken', number })
  // The client may have gone while its connection was on the way.
  if (socket === undefined || doors === undefined) {
    tell({ type: 'closed', door })
    return
  }
  socket.once('close', () => tell({ type: 'closed', door }))
  doors.all[door]?.take(socket)
}

async function leave(): Promise<void> {
  if (isLeaving) return
  isLeaving = true
  await doors?.close()
  const report = doors?.reports.counted()
  if (report === undefined) process.exit(0)
  tell({ type: 'counted', report }, () => process.exit(0))
}

function crash(error: unknown): void {
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  if (!(error instanceof SluiceError)) log.error('worker.fault', message, { stack })
  tell({ type: 'failed', message }, () => process.exit(1))
}

function isQuotaNews(message: ToWorker): message is QuotaNews {
  return message.type.startsWith('quota')
}

function hearQuotas(news: QuotaNews): void {
  if (news.type === 'quotas') keySecret = news.keySecret
  quotas?.hear(news)
  tellInForce()
}

function announceRules({ version, table, routes }: Extract<ToWorker, { type: 'packed-rules' }>): void {
  tables.announced = table
  rules.announce(version, () => setRoutes(routes))
}

function receive(message: ToWorker, socket?: Socket): void {
  if (message.type === 'connection') take(message.door, message.number, socket)
  else if (message.type === 'start') void start(message).catch(crash)
  else if (message.type === 'rules') applyRules(message.inputs, message.routes)
  else if (message.type === 'routes') rules.whenInForce(() => setRoutes(message.input))
  else if (message.type === 'packed-rules') announceRules(message)
  else if (message.type === 'rule-part') takePart(message.version, message.part)
  else if (message.type === 'shed') doors?.all[message.door]?.shed(message.count)
  else if (message.type === 'not-serving') doors?.notServing()
  else if (message.type === 'health') doors?.hear(message.health)
  else if (message.type === 'drain') void leave()
  else if (isQuotaNews(message)) hearQuotas(message)
  else if (message.type === 'beat') tell({ type: 'alive' })
  else void answer(message).catch(crash)
}

async function answer({ question, name, about }: Extract<ToWorker, { type: 'ask' }>): Promise<void> {
  const report = doors?.reports[name](about)
  tell({ type: 'report', question, report: report instanceof Promise ? await report : report })
}

process.on('uncaughtException', crash)
process.on('message', (message: ToWorker, socket?: Socket) => receive(message, socket))
// A primary that was killed cannot tell anything any more. What is under way is answered.
process.on('disconnect', () => void leave())
// The primary decides when all end: a terminal sends these to every process.
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
process.on('SIGTERM', () => tell({ type: 'leaving' }))
