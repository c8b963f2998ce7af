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
import { LedgerLine } from './ledger-line.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import type { QuotaNews } from './quota-feed.ts'
import { WorkerQuotas } from './worker-quotas.ts'
import { WorkerRules } from './worker-rules.ts'

/**
 * A worker answers requests on connections that the primary hands to it. It has no port, no rule files and no log: all
 * of these come from the primary, or go to it.
 */

function send(message: FromWorker, then: () => void = () => {}): void {
  // Without the primary there is no one to send to, and the process is about to end.
  if (!process.connected || process.send === undefined) then()
  else process.send(message, undefined, undefined, then)
}

const log = logTo((entry) => send({ type: 'log', entry }))
let doors: Doors | undefined
/** What arrived for the doors before they were open, in order. */
const forDoors: ((opened: Doors) => void)[] = []
const rules = new WorkerRules((version, at) => send({ type: 'rule-part', version, at }))
let quotas: WorkerQuotas | undefined
let passedOver: PassedOverLog | undefined
/** Known from the first set on. Each set has a separate book, which remembers nothing of an older one. */
let keySecret = ''
let options: CompileOptions = {}
let isLeaving = false
/** The ledger of the primary, where there is a database. */
const ledger = new LedgerLine((questions) => send({ type: 'ledger', questions }))
/** The versions of the database's rules: the one in force, and the one that is arriving in parts. */
const tables = { inForce: 0, announced: 0 }
let reported: InForce = NOTHING_IN_FORCE
/** Reads routes, where this worker has a gateway. */
let planOf: ((input: RuleInput) => GatewayPlan) | undefined

/** Sends lines of the decision log to the primary, the only writer. */
function sendLines(text: string): Promise<void> {
  return new Promise((resolve) => send({ type: 'decisions', text }, resolve))
}

/** Sends what customers used to the primary, which stores it. */
function reportUsage(news: UsageNews): Promise<void> {
  return new Promise((resolve) => send({ type: 'usage', news }, resolve))
}

/** Reports to the primary what this worker decides by, if that has changed. */
function reportInForce(): void {
  const inForce = { revision: quotas?.revision ?? -1, rules: tables.inForce }
  if (inForce.revision === reported.revision && inForce.rules === reported.rules) return
  reported = inForce
  send({ type: 'in-force', inForce })
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
    quotas = new WorkerQuotas(bookOptions, (version, at) => send({ type: 'quota-part', version, at }))
    hearQuotas(first)
  }
  const traces = await openTraces(config, log)
  const opened = openDoors(config, rules.current, log, {
    traces,
    decisions: sendLines,
    quotas: quotas?.current,
    gateway: routes && (await openGateway(config, routes)),
    passedOver,
    ledger: config.database && ledger,
    usage: reportUsage,
  })
  opened.hear(health)
  for (const act of forDoors.splice(0)) act(opened)
  doors = opened
  const { storeName, ready } = opened
  // Without the quotas, blocked callers would pass.
  await Promise.all([ready, quotas?.arrived])
  reportInForce()
  send({ type: 'ready', storeName })
}

/** Loads the code for a gateway only where there is one. */
async function openGateway(config: Config, routes: RuleInput) {
  const { gatewayDoor } = await import('../doors/gateway-door.ts')
  planOf = (await import('../gateway/read-routes.ts')).readRoutes
  return gatewayDoor(config, planOf(routes), log)
}

/** Acts on the doors: now, or as soon as they are open, so that nothing is lost that arrives while they open. */
function withDoors(act: (opened: Doors) => void): void {
  if (doors === undefined) forDoors.push(act)
  else act(doors)
}

function applyRules(inputs: readonly RuleInput[], routes: RuleInput | undefined): void {
  useRules(inputs)
  setRoutes(routes)
  doors?.rulesChanged()
  reportInForce()
}

function useRules(inputs: readonly RuleInput[]): void {
  rules.apply(inputs, options)
  tables.inForce = tableVersionIn(inputs)
}

/** Replaces the gateway's routes in the same turn: no request may meet rules of one version and routes of another. */
function setRoutes(routes: RuleInput | undefined): void {
  if (routes !== undefined) withDoors((opened) => planOf !== undefined && opened.setRoutes(planOf(routes)))
}

function takePart(version: number, part: RulePart): void {
  if (rules.take(version, part)) tables.inForce = tables.announced
  doors?.rulesChanged()
  reportInForce()
}

function take(door: DoorName, number: number, socket: Socket | undefined): void {
  send({ type: 'taken', number })
  // The client may have gone while its connection was on the way.
  if (socket === undefined || doors === undefined) {
    send({ type: 'closed', door })
    return
  }
  socket.once('close', () => send({ type: 'closed', door }))
  doors.all[door]?.take(socket)
}

async function leave(): Promise<void> {
  if (isLeaving) return
  isLeaving = true
  await doors?.close()
  const report = doors?.reports.counted()
  if (report === undefined) process.exit(0)
  send({ type: 'counted', report }, () => process.exit(0))
}

function crash(error: unknown): void {
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  if (!(error instanceof SluiceError)) log.error('worker.fault', message, { stack })
  send({ type: 'failed', message }, () => process.exit(1))
}

function isQuotaNews(message: ToWorker): message is QuotaNews {
  return message.type.startsWith('quota')
}

function hearQuotas(news: QuotaNews): void {
  if (news.type === 'quotas') keySecret = news.keySecret
  quotas?.hear(news)
  reportInForce()
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
  else if (message.type === 'shed') withDoors(({ all }) => all[message.door]?.shed(message.count))
  else if (message.type === 'not-serving') withDoors((opened) => opened.notServing())
  else if (message.type === 'health') withDoors((opened) => opened.hear(message.health))
  else if (message.type === 'drain') void leave()
  else if (isQuotaNews(message)) hearQuotas(message)
  else if (message.type === 'ledger') ledger.hear(message.replies)
  else if (message.type === 'beat') send({ type: 'alive' })
  else void answer(message).catch(crash)
}

async function answer({ question, name, about }: Extract<ToWorker, { type: 'ask' }>): Promise<void> {
  const report = doors?.reports[name](about)
  send({ type: 'report', question, report: report instanceof Promise ? await report : report })
}

process.on('uncaughtException', crash)
process.on('message', (message: ToWorker, socket?: Socket) => receive(message, socket))
// A primary that was killed sends nothing more. Requests in flight are answered.
process.on('disconnect', () => {
  ledger.cut()
  void leave()
})
// The primary decides when all end: a terminal sends these to every process.
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
process.on('SIGTERM', () => send({ type: 'leaving' }))
