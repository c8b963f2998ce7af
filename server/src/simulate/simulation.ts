import type { Decision } from 'sluice/internal/core/combine'
import { SluiceError } from 'sluice/internal/core/errors'
import type { KeyedHash } from 'sluice/internal/core/hash'
import type { Domain, RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { LimiterParts } from 'sluice/internal/engine/limiter'
import { sharedHash } from 'sluice/internal/engine/shared-hash'
import { DecisionLog } from '../observe/decision-log.ts'
import { Replay, ReplayClock } from './replay.ts'
import { DecisionRequests } from './requests/decision-requests.ts'
import type { RequestMaker } from './requests/request-maker.ts'
import { type Mapping, RequestPlan } from './requests/rule-requests.ts'
import { ShownCallers } from './shown-callers.ts'
import { CallerTable } from './tally/caller-table.ts'
import { count, noCounts, type Outcome } from './tally/counts.ts'
import { RuleTable } from './tally/rule-table.ts'
import { TimeSeries } from './tally/time-series.ts'
import {
  DECISION_FIELDS,
  detectFormat,
  type Format,
  fieldsOf,
  type GivenSources,
  openFormat,
} from './traffic/formats.ts'
import type { Traffic } from './traffic/open-traffic.ts'
import { type LineCounts, type LineSource, readLines } from './traffic/read-lines.ts'
import { TimeOrder, type TimeOrderOptions, type TrafficLine } from './traffic/time-order.ts'

/** Rules that traffic is replayed through. */
export interface SimulatedRules {
  readonly rules: RuleSet
  /** The domain that requests are made for. Undefined: those that a decision log names. */
  readonly domain: Domain | undefined
}

export interface SimulationOptions extends TimeOrderOptions {
  readonly now: SimulatedRules
  /** The rules that the result is compared with. */
  readonly before?: SimulatedRules | undefined
  readonly mapping: Mapping
  /** Undefined: recognised by the first lines. */
  readonly format: Format | undefined
  readonly sources: GivenSources
  readonly maxKeys: number
  /** What secrets are hashed with. Undefined: the beginning of the traffic itself. */
  readonly secret: string | undefined
  readonly parts?: LimiterParts | undefined
  /** Takes a line for each decision. */
  readonly decisions?: ((line: string) => void) | undefined
}

/** How lines of one log become requests. */
interface Source extends LineSource {
  readonly now: RequestMaker
  readonly before: RequestMaker | undefined
  readonly status: number
  /** Formats callers, one for each caller key. */
  readonly shown: readonly ((value: string) => string)[]
  readonly groups: readonly { readonly table: CallerTable; readonly callerOf: (values: readonly string[]) => string }[]
}

/** What was read of the traffic. */
export interface ReadCounts extends LineCounts {
  /** Lines without a value for any descriptor. */
  undescribed: number
  /** Lines that the log says were answered 429. */
  refusedThen: number
}

export const TOO_MANY_REQUESTS = '429'

/** Replays traffic through rules, and counts what becomes of it. */
export class Simulation {
  readonly totals = noCounts()
  readonly read: ReadCounts = { lines: 0, unread: 0, undescribed: 0, refusedThen: 0 }
  readonly rules = new RuleTable()
  readonly series = new TimeSeries()
  readonly formats = new Set<Format>()
  readonly order: TimeOrder<Source>
  readonly groups = new Map<string, CallerTable>()
  readonly #options: SimulationOptions
  readonly #clock = new ReplayClock()
  #hash: KeyedHash | undefined
  #now: Replay | undefined
  #before: Replay | undefined
  #callers: CallerTable | undefined
  #log: DecisionLog | undefined
  callerKeys: readonly string[] = []
  /** Whether the log has no part of a second. */
  isWholeSeconds = true
  firstMs = Number.NaN
  lastMs = Number.NaN

  constructor(options: SimulationOptions) {
    this.#options = options
    this.order = new TimeOrder(options, (line) => this.#decide(line))
  }

  /** Replays one log, up to what has to be held for the order of times. `progressed` is called after each block. */
  replay(traffic: Traffic, progressed: () => void = () => {}): Promise<void> {
    const take = (timeMs: number, values: readonly string[], source: Source): void => {
      if (timeMs % 1_000 !== 0) this.isWholeSeconds = false
      this.order.push({ timeMs, values, source })
    }
    const open = (text: string) => this.#open(traffic.name, text)
    return readLines(traffic, { open, take, counts: this.read, progressed })
  }

  /** Decides what is held. Throws an error if there was nothing to decide: no result is no good news. */
  finish(): void {
    this.order.flush()
    this.#log?.close()
    const { lines, undescribed } = this.read
    if (this.totals.requests > 0) return
    const why =
      undescribed > 0 ? `none of ${lines} lines has what the rules need` : `none of ${lines} lines is a request`
    throw new SluiceError('TRAFFIC_EMPTY', '--traffic', why)
  }

  get callers(): CallerTable {
    return this.#callers as CallerTable
  }

  get now(): Replay {
    return this.#now as Replay
  }

  get before(): Replay | undefined {
    return this.#before
  }

  #decide({ timeMs, values, source }: TrafficLine<Source>): void {
    if (source.status >= 0 && values[source.status] === TOO_MANY_REQUESTS) this.read.refusedThen++
    const request = source.now.request(values)
    if (request === undefined) {
      this.read.undescribed++
      return
    }
    this.#clock.moveTo(timeMs)
    const now = this.#now as Replay
    const decision = now.decide(request)
    const wasRefused = this.#refusedBefore(values, source)
    const outcome: Outcome = { isRefused: !decision.allowed, isShadow: isShadow(decision), wasRefused }
    if (Number.isNaN(this.firstMs)) this.firstMs = timeMs
    this.lastMs = timeMs
    count(this.totals, outcome)
    this.series.add(timeMs, outcome)
    this.rules.add(now.charges, decision, timeMs)
    if (wasRefused !== undefined && wasRefused !== outcome.isRefused) this.#countDifference(decision)
    this.#countCallers(values, source, outcome)
    // The door is unknown, and how long the decision took says nothing about a service.
    this.#log?.decided(undefined, now.charges, decision, Number.NaN, undefined)
  }

  /** Returns what the other rules would have done; undefined without any. */
  #refusedBefore(values: readonly string[], { before }: Source): boolean | undefined {
    if (before === undefined || this.#before === undefined) return undefined
    const request = before.request(values)
    if (request === undefined) return false
    this.#decisionBefore = this.#before.decide(request)
    return !this.#decisionBefore.allowed
  }
  #decisionBefore: Decision | undefined

  #countDifference(decision: Decision): void {
    const isLost = !decision.allowed
    const tightest = isLost ? decision.tightest : this.#decisionBefore?.tightest
    const replay = isLost ? this.now : this.#before
    if (tightest === undefined || replay === undefined) return
    const { domain } = replay.charges[0]
    const counts = this.rules.of(tightest.rule, domain)
    if (isLost) counts.lost++
    else counts.gained++
  }

  #countCallers(values: readonly string[], { now, shown, groups }: Source, outcome: Outcome): void {
    for (let i = 0; i < shown.length; i++) {
      const value = now.callerValue(values, i)
      if (value === '') continue
      this.#callers?.add(i, value, shown[i], outcome)
      break
    }
    for (const { table, callerOf } of groups) {
      const value = callerOf(values)
      if (value !== '') table.add(0, value, asItIs, outcome)
    }
  }

  #open(name: string, text: string): { readonly source: Source; readonly headerLines: number } {
    const { now, before, sources, mapping } = this.#options
    const { groups } = mapping
    const header = text.slice(0, Math.max(0, text.indexOf('\n')))
    const format = this.#options.format ?? detectFormat(name, text)
    this.formats.add(format)
    const hash = this.#openReplays(text)
    const shownCallers = new ShownCallers(hash)
    if (format === 'decisions') return this.#openDecisions(header)
    const fieldsKnown = fieldsOf({ format, header }, sources)
    const plan = new RequestPlan(requiredDomain(now), mapping, fieldsKnown)
    const planBefore = before && new RequestPlan(requiredDomain(before), mapping, fieldsKnown)
    const fields = new Set([...plan.fields, ...(planBefore?.fields ?? [])])
    const opened = openFormat({ format, header }, fields, sources)
    const maker = plan.open(opened.slots)
    const secretKeys = now.domain?.secretKeys ?? new Set()
    this.callerKeys = plan.callerKeys
    return {
      headerLines: opened.headerLines,
      source: {
        reader: opened.reader,
        now: maker,
        before: planBefore?.open(opened.slots),
        size: opened.slots.size,
        status: opened.slots.get('status') ?? -1,
        shown: plan.callerKeys.map((key) => shownCallers.of(key, secretKeys.has(key))),
        groups: groups.map((key) => ({ table: this.#groupOf(key, hash), callerOf: plan.valueOf(key, opened.slots) })),
      },
    }
  }

  #openDecisions(header: string): { readonly source: Source; readonly headerLines: number } {
    const { now, before, mapping } = this.#options
    if (mapping.groups.length > 0)
      throw new SluiceError('FAIL_IF_INVALID', '--fail-if', 'a decision log has callers, but no fields')
    const opened = openFormat({ format: 'decisions', header }, DECISION_FIELDS, new Map())
    const makerOf = ({ rules, domain }: SimulatedRules): RequestMaker =>
      new DecisionRequests(opened.slots, (name) =>
        domain === undefined ? rules.domains.has(name) : domain.name === name,
      )
    this.callerKeys = ['caller']
    return {
      headerLines: 0,
      source: {
        reader: opened.reader,
        now: makerOf(now),
        before: before && makerOf(before),
        size: opened.slots.size,
        status: -1,
        shown: [(value) => value],
        groups: [],
      },
    }
  }

  #groupOf(key: string, hash: KeyedHash): CallerTable {
    const known = this.groups.get(key) ?? new CallerTable(hash, this.#options.before !== undefined)
    this.groups.set(key, known)
    return known
  }

  /** Opens the replays at the first log. Secrets are hashed with what only those know who have the log. */
  #openReplays(text: string): KeyedHash {
    if (this.#hash !== undefined) return this.#hash
    const { now, before, maxKeys, secret, parts, decisions } = this.#options
    const key = secret === undefined ? `simulate ${text.slice(0, text.indexOf('\n'))}` : secret
    const newHash = (): KeyedHash => sharedHash(key)
    const hash = newHash()
    const options = { clock: this.#clock, newHash, maxKeys, parts }
    if (decisions !== undefined) {
      const write = (line: string): boolean => {
        decisions(line)
        return true
      }
      const share = { refusalsPerSecond: Number.POSITIVE_INFINITY, share: 1, now: () => this.#clock.nowMs() }
      this.#log = new DecisionLog(share, { rules: () => now.rules, keys: new ShownCallers(hash).keys, write })
    }
    this.#hash = hash
    this.#now = new Replay(now.rules, {
      ...options,
      parts: { ...parts, ...(this.#log && { observer: unmatchedOnly(this.#log) }) },
    })
    this.#before = before && new Replay(before.rules, options)
    this.#callers = new CallerTable(hash, before !== undefined)
    return hash
  }
}

const asItIs = (value: string): string => value

/** The log is notified of decisions with the time of the replay; of descriptors without a rule, by the planner. */
function unmatchedOnly(log: DecisionLog): NonNullable<LimiterParts['observer']> {
  return { decided: () => {}, unmatched: (domain, entries, isKnown) => log.unmatched(domain, entries, isKnown) }
}

function requiredDomain({ rules, domain }: SimulatedRules): Domain {
  if (domain !== undefined) return domain
  const known = [...rules.domains.keys()].join(', ')
  throw new SluiceError('DOMAIN_UNKNOWN', '--domain', `not given. Known domains: ${known}`)
}

/** Returns whether a rule in shadow mode would have refused a request that is allowed. */
function isShadow({ allowed, verdicts }: Decision): boolean {
  if (!allowed) return false
  for (let i = 0; i < verdicts.length; i++) if (verdicts[i].rule.shadow && !verdicts[i].verdict.allowed) return true
  return false
}
