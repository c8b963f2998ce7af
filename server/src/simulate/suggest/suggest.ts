import { durationText } from 'sluice/internal/core/duration-text'
import { SluiceError } from 'sluice/internal/core/errors'
import type { ProxyTrust } from 'sluice/internal/core/identity/proxy-trust'
import { loadRules } from 'sluice/internal/core/rules/load'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { sharedHash } from 'sluice/internal/engine/shared-hash'
import { Replay, ReplayClock } from '../replay.ts'
import { counted } from '../report/text.ts'
import { CALLERS, isField, templateOf } from '../requests/entry-templates.ts'
import { type FieldValue, fieldsNeeded, fieldValue } from '../requests/field-values.ts'
import type { RequestMaker } from '../requests/request-maker.ts'
import { RequestPlan } from '../requests/rule-requests.ts'
import { templateValue } from '../requests/template.ts'
import { isSecretName } from '../shown-callers.ts'
import {
  detectFormat,
  type Format,
  fieldsOf,
  type GivenSources,
  type KnownFields,
  openFormat,
} from '../traffic/formats.ts'
import { openTraffic, type Traffic } from '../traffic/open-traffic.ts'
import { type LineCounts, type LineSource, readLines } from '../traffic/read-lines.ts'
import { TimeOrder } from '../traffic/time-order.ts'
import { CallerPeaks } from './caller-peaks.ts'
import { type ChoiceOptions, rounded } from './choose-limit.ts'
import { PathPatterns } from './path-patterns.ts'
import { suggestTiers } from './suggested-tiers.ts'
import { type SuggestedTier, suggestionYaml } from './suggestion-yaml.ts'
import { Touched } from './touched.ts'

export interface SuggestOptions extends Omit<ChoiceOptions, 'spanMs'> {
  readonly logs: readonly string[]
  readonly domain: string
  readonly format: Format | undefined
  readonly sources: GivenSources
  readonly entries: ReadonlyMap<string, string>
  /** The entry that names callers. Undefined: the best that most lines have. */
  readonly caller: string | undefined
  readonly trust: ProxyTrust | undefined
  readonly windowMs: number
  readonly isSpread: boolean
  /** For how many endpoints limits are proposed. */
  readonly mostEndpoints: number
  /** Called after each block. */
  readonly progressed: () => void
}

/** What a pass over the logs needs of each. */
interface Opened extends LineSource {
  readonly caller: FieldValue
  readonly endpoint: FieldValue
  readonly tier: FieldValue
  readonly maker: RequestMaker | undefined
}

const ENDPOINT = 'endpoint'
const TIER = 'tier'
const SAMPLED = 200
const DAY_MS = 86_400_000
/** A stable hash: the same traffic gives the same proposal. */
const HASH_NAME = 'suggest'

/** Proposes limits for what callers did: measures them, then tries the proposal on the same traffic. */
export class Suggester {
  readonly #options: SuggestOptions
  #caller: string | undefined
  #firstMs = Number.POSITIVE_INFINITY
  #lastMs = Number.NEGATIVE_INFINITY
  #requests = 0
  /** How many lines and bytes were read, in both passes. */
  lines = 0
  #bytes = 0
  #reading: Traffic | undefined

  constructor(options: SuggestOptions) {
    this.#options = options
    this.#caller = options.caller
  }

  readBytes(): number {
    return this.#bytes + (this.#reading?.readBytes() ?? 0)
  }

  /** Returns a rule file in shadow mode, with reasons as comments. */
  async suggest(): Promise<string> {
    const peaks = new CallerPeaks(sharedHash(HASH_NAME))
    const patterns = new PathPatterns()
    const counts = await this.#pass(undefined, (timeMs, values, { caller, endpoint, tier }) => {
      const name = caller(values)
      if (name === '') return
      this.#requests++
      this.#firstMs = Math.min(this.#firstMs, timeMs)
      this.#lastMs = timeMs
      const ofTier = tier(values)
      peaks.add({ tier: ofTier, endpoint: '' }, name, timeMs)
      const called = endpoint(values)
      if (called !== '') peaks.add({ tier: ofTier, endpoint: patterns.of(called) }, name, timeMs)
    })
    if (this.#requests === 0) {
      throw new SluiceError('TRAFFIC_EMPTY', '--traffic', `none of ${counts.lines} lines is a request of a caller`)
    }
    const choice = { ...this.#options, spanMs: this.#lastMs - this.#firstMs }
    const tiers = suggestTiers(peaks.groups, choice, this.#caller as string)
    const touched = await this.#tried(this.#yaml(tiers, peaks.share))
    return this.#yaml(touched.explain(tiers), peaks.share)
  }

  /** Replays the traffic through a proposal, as if it were in force. */
  async #tried(yaml: string): Promise<Touched> {
    const rules = loadRules([{ file: 'suggestion', text: yaml }])
    const touched = new Touched()
    const clock = new ReplayClock()
    const newHash = () => sharedHash(HASH_NAME)
    const replay = new Replay(rules, { clock, newHash, maxKeys: 2_000_000 })
    await this.#pass(rules, (timeMs, values, { maker, caller, tier }) => {
      const request = maker?.request(values)
      if (request === undefined) return
      clock.moveTo(timeMs)
      touched.add(tier(values), caller(values), replay.decide(request))
    })
    return touched
  }

  #yaml(tiers: readonly SuggestedTier[], share: number): string {
    const { percentile, headRoom, domain, logs } = this.#options
    const caller = this.#caller as string
    const room = Math.round(100 * (headRoom - 1))
    const span = `${new Date(this.#firstMs).toISOString()} to ${new Date(this.#lastMs).toISOString()}`
    const sampled = share < 1 ? ` One caller of ${rounded(1 / share)} was measured.` : ''
    const head = [
      `Proposed by sluice suggest from ${counted(this.#requests, 'request')}, ${span}, of ${logs.map((log) => JSON.stringify(log)).join(', ')}.`,
      `Each limit admits the busiest time of ${percentile} % of the callers, with ${room} % of head-room.${sampled}`,
    ]
    const lastedMs = this.#lastMs - this.#firstMs
    if (lastedMs < DAY_MS)
      head.push(`The traffic lasted ${durationText(lastedMs)}: that of some days says more about what is usual.`)
    return suggestionYaml({ domain, caller, isSecret: isSecretName(caller), head, tiers })
  }

  /** Reads all logs in the order of times. `rules`: whose requests are made. */
  async #pass(
    rules: RuleSet | undefined,
    take: (timeMs: number, values: readonly string[], opened: Opened) => void,
  ): Promise<LineCounts> {
    const counts: LineCounts = { lines: 0, unread: 0 }
    const order = new TimeOrder<Opened>(this.#options, ({ timeMs, values, source }) => take(timeMs, values, source))
    const linesBefore = this.lines
    for (const log of this.#options.logs) {
      const traffic = openTraffic(log)
      this.#reading = traffic
      await readLines(traffic, {
        open: (text) => this.#open(log, text, rules),
        take: (timeMs, values, source) => order.push({ timeMs, values, source }),
        counts,
        progressed: () => {
          this.lines = linesBefore + counts.lines
          this.#options.progressed()
        },
      })
      this.#bytes += traffic.readBytes()
      this.#reading = undefined
    }
    order.flush()
    return counts
  }

  #open(log: string, text: string, rules: RuleSet | undefined): { source: Opened; headerLines: number } {
    const { sources, trust, entries, domain } = this.#options
    const header = text.slice(0, Math.max(0, text.indexOf('\n')))
    const format = this.#options.format ?? detectFormat(log, text)
    if (format === 'decisions') throw new SluiceError('TRAFFIC_FORMAT_UNKNOWN', log, 'a decision log has no endpoints')
    const known = fieldsOf({ format, header }, sources)
    this.#caller ??= this.#bestCaller(format, text, known)
    const caller = this.#caller
    const keys = [caller, ENDPOINT, ...(entries.has(TIER) || isField(TIER, known) ? [TIER] : [])]
    const templates = new Map(keys.map((key) => [key, templateOf(key, entries)]))
    const fields = [...templates.values()].flatMap((template) =>
      template.fields.flatMap((field) => fieldsNeeded(field, known.direct)),
    )
    const opened = openFormat({ format, header }, fields, sources)
    const places = { slots: opened.slots, direct: known.direct, trust }
    const valueAt = (key: string): FieldValue => {
      const template = templates.get(key)
      return template === undefined ? () => '' : templateValue(template, (field) => fieldValue(field, places))
    }
    const ofRules = rules?.domains.get(domain)
    const mapping = { entries, descriptors: [], without: new Set<string>(), caller, groups: [], trust, hasCost: false }
    const maker = ofRules && new RequestPlan(ofRules, mapping, known).open(opened.slots)
    const source = { reader: opened.reader, size: opened.slots.size, maker }
    return {
      headerLines: opened.headerLines,
      source: { ...source, caller: valueAt(caller), endpoint: valueAt(ENDPOINT), tier: valueAt(TIER) },
    }
  }

  /** Returns the entry that says most lines' callers, of the first lines of a log. */
  #bestCaller(format: Format, text: string, known: KnownFields): string {
    const { sources, trust, entries } = this.#options
    const header = text.slice(0, Math.max(0, text.indexOf('\n')))
    const lines = text
      .split('\n', SAMPLED)
      .slice(format === 'csv' ? 1 : 0)
      .filter((line) => line !== '')
    for (const key of CALLERS) {
      const template = templateOf(key, entries)
      // Another name of a field that was tried is not another caller.
      const isOther = entries.has(key) || template.fields[0] === key
      if (!isOther || !template.fields.every((field) => isField(field, known))) continue
      const fields = template.fields.flatMap((field) => fieldsNeeded(field, known.direct))
      const { reader, slots } = openFormat({ format, header }, fields, sources)
      const value = templateValue(template, (field) => fieldValue(field, { slots, direct: known.direct, trust }))
      const named = lines.filter((line) => {
        const values = new Array<string>(slots.size).fill('')
        return reader.read(line, 0, line.length, values) >= 0 && value(values) !== ''
      })
      if (2 * named.length >= lines.length) return key
    }
    throw new SluiceError('CALLER_UNKNOWN', '--caller', 'not given, and no field of the log is known to name callers')
  }
}
