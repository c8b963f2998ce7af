import { formatDuration } from 'sluice/internal/core/duration'
import { durationText } from 'sluice/internal/core/duration-text'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { KeyedHash } from 'sluice/internal/core/hash'
import { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { storedKey } from 'sluice/internal/core/keys'
import { eventualLifeMs, overAdmission } from 'sluice/internal/core/over-admission'
import type { Entry } from 'sluice/internal/core/request'
import { describeRule } from 'sluice/internal/core/rules/describe'
import {
  type ExplainedStep,
  explain as explainMatch,
  sourceText,
  type TierChoice,
} from 'sluice/internal/core/rules/explain'
import { loadRules, type RuleText } from 'sluice/internal/core/rules/load'
import { parseRules } from 'sluice/internal/core/rules/parse'
import type { Domain, Rule } from 'sluice/internal/core/rules/rule-set'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import { chanceOf, SAMPLE_MS, sampledRate } from 'sluice/internal/core/sampled-rate'
import { type CounterState, stateOf } from '../app/counters/counter-state.ts'
import { COUNTER_FLAGS, keysOf, namesOf, openCounters } from '../app/counters/open-counters.ts'
import { plural } from '../app/plural.ts'
import { readRules } from '../app/rules/read-rules.ts'
import { compatibilityLine, compileOptionsOf } from '../app/settings/compatibility.ts'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { domainOf, entriesOf, entryOf } from './descriptor.ts'
import { COMPATIBILITY_FLAG, givenCompatibility } from './given-compatibility.ts'

const FLAGS = [
  ...COUNTER_FLAGS,
  { flag: 'domain', value: 'NAME' },
  { flag: 'merge-domains' },
  COMPATIBILITY_FLAG,
  { flag: 'nodes', value: 'N' },
  { flag: 'rate', value: 'HITS' },
] as const

/** Prints which rules apply to a descriptor, why, in which order, on which counter and with which limit. */
export async function explain(args: readonly string[]): Promise<void> {
  const flags = parseFlags('explain', FLAGS, args)
  const [path, ...pairs] = flags.rest
  if (path === undefined) throw new SluiceError('ARGUMENT_MISSING', 'explain', 'no rules given')
  if (pairs.length === 0) throw new SluiceError('ARGUMENT_MISSING', 'explain', 'no key=value given')
  const entries = pairs.map((pair) => entryOf('explain', pair))
  const compatibility = givenCompatibility(flags, process.env)
  const options = compileOptionsOf(flags.isOn('merge-domains'), compatibility)
  const inputs = await readRules([path], flags)
  const rules = loadRules(inputs, options)
  const fleet = { nodes: countOf('nodes', flags.last('nodes'), 1), rate: countOf('rate', flags.last('rate'), 0) }
  if (compatibility !== undefined) process.stdout.write(`${compatibilityLine(compatibility)}\n\n`)
  const domain = domainOf(rules, flags.last('domain'))
  process.stdout.write(await explanation(domain, entries, { fleet, flags, locate: tierPlaces(inputs, domain.name) }))
}

/** What is known about the nodes that count: how many, and how many hits a second each gets. */
interface Fleet {
  readonly nodes: number | undefined
  readonly rate: number | undefined
}

function countOf(flag: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < least)
    throw new SluiceError('NODES_OR_RATE_INVALID', `--${flag}`, got(text))
  return count
}

/** What an explanation is made of in addition to the rules. */
interface Asked {
  readonly fleet: Fleet
  readonly flags: Flags
  /** Names where a tier stands in the rule files. */
  readonly locate: (tier: string) => string | undefined
}

/** Finds tiers of a domain in its rule files. */
function tierPlaces(inputs: readonly RuleText[], domain: string): Asked['locate'] {
  const documents = inputs.map(({ file, text }) => parseRules(file, text))
  return (tier) => {
    const source = documents.find(({ value }) => {
      const file = value as RuleFile
      return file.domain === domain && Object.hasOwn(file.tiers ?? {}, tier)
    })
    // The column does not help here.
    return source?.locate(['tiers', tier], 'key').replace(/:\d+$/, '')
  }
}

async function explanation(domain: Domain, all: readonly Entry[], { fleet, flags, locate }: Asked): Promise<string> {
  const { entries, tier } = entriesOf(domain, all)
  const { steps, rules, sources, tiers, note } = explainMatch(domain, entries, tier)
  const keys = new KeyEncoder(new KeyedHash(0, 0))
  const shared = keysOf(flags, process.env)
  const names = namesOf(flags, process.env)
  const counters = rules.map((rule) => ({
    key: keys.encode(domain.name, rule, entries),
    shared: shared.encode(domain.name, rule, entries),
  }))
  const from = tiers.length === 0 ? [] : sources.map((source) => `     source   ${sourceText(source, locate)}`)
  const states = flags.has('redis') ? await statesOf(rules, counters, flags) : []
  const sections = [
    [headOf(domain, tier)],
    stepLines(steps),
    note === undefined ? ruleLines(domain, rules, counterLines(rules, counters, names, states, from), fleet) : [note],
    tierLines(tiers, tier),
    remarks(steps, rules),
  ]
  const filled = sections.filter((lines) => lines.length > 0)
  return `${filled.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function headOf({ name, version }: Domain, tier: string | undefined): string {
  return `domain ${name}${version === undefined ? '' : `, version ${version}`}${tier === undefined ? '' : `, tier ${tier}`}`
}

function stepLines(steps: readonly ExplainedStep[]): string[] {
  const shown = steps.map(({ entry, secret }) => `${entry.key}=${secret ? '(secret)' : entry.value}`)
  const width = Math.max(0, ...shown.map((text) => text.length))
  return steps.flatMap(({ how, pattern, passedOver, known }, i) => [
    `  ${shown[i].padEnd(width)}  ${how}${pattern === undefined ? knownHere(known) : ` → ${pattern}`}`,
    ...passedOver.map((other) => `  ${' '.repeat(width)}  before ${other.how} → ${other.pattern}`),
  ])
}

const MAX_KNOWN = 8

function knownHere(known: readonly string[]): string {
  if (known.length === 0) return ''
  const more = known.length > MAX_KNOWN ? `, and ${known.length - MAX_KNOWN} more` : ''
  return `; this level has ${known.slice(0, MAX_KNOWN).join(', ')}${more}`
}

interface EncodedCounter {
  /** For people. */
  readonly key: string
  /** As a service with the same settings encodes it for Redis, without the limit's shape. */
  readonly shared: string
}

/** Asks Redis about counters. Nothing is charged. */
async function statesOf(rules: readonly Rule[], counters: readonly EncodedCounter[], flags: Flags) {
  const opened = openCounters('explain', flags, process.env)
  try {
    const asked = rules.map(({ unlimited, limit }, i) =>
      unlimited ? undefined : stateOf(opened, counters[i].shared, limit),
    )
    return await Promise.all(asked)
  } finally {
    await opened.close()
  }
}

function counterLines(
  rules: readonly Rule[],
  counters: readonly EncodedCounter[],
  names: ReturnType<typeof namesOf>,
  states: readonly (CounterState | undefined)[],
  from: readonly string[],
): readonly string[][] {
  return rules.map(({ unlimited, limit }, i) => {
    const source = from.slice(i, i + 1)
    if (unlimited) return [...source, '     counter  none: nothing is counted']
    const state = states[i]
    const stored = storedKey(counters[i].shared, limit)
    return [
      ...source,
      `     counter  ${counters[i].key}`,
      `     redis    ${names.of(stored)}`,
      ...(names.isCompact ? [`     key      ${stored}`] : []),
      ...(state === undefined ? [] : [`     state    ${describeState(state)}`]),
    ]
  })
}

/** Describes the state of a counter in words. */
function describeState(state: CounterState): string {
  const { used, remaining, lent, resetAfterMs, retryAfterMs, isImpossible, holdsPermits } = state
  const parts = [holdsPermits ? `${used} held, ${remaining} free` : `${used} used, ${remaining} left`]
  if (lent.nodes > 0) parts.push(`${lent.hits} of them lent to ${plural(lent.nodes, 'node')}`)
  if (remaining > 0) parts.push('not refused')
  else if (isImpossible) parts.push('refused for ever: the limit admits nothing')
  else parts.push(retryAfterMs > 0 ? `refused for ${durationText(retryAfterMs, Math.ceil)}` : 'refused')
  if (resetAfterMs > 0) parts.push(`unused again in ${durationText(resetAfterMs, Math.ceil)}`)
  return parts.join('; ')
}

function ruleLines(domain: Domain, rules: readonly Rule[], counters: readonly string[][], fleet: Fleet): string[] {
  const several = domain.evaluatePath ? 'limits apply (evaluate: path), in this order' : 'limits apply'
  return [
    rules.length === 1 ? '1 limit applies:' : `${rules.length} ${several}; all of them must have budget:`,
    ...rules.flatMap((rule, i) => [
      `  ${i + 1}. ${JSON.stringify(rule.name)}`,
      `     limit    ${describeRule(rule)}`,
      ...counters[i],
      ...boundLines(rule, fleet),
    ]),
  ]
}

function boundLines(rule: Rule, fleet: Fleet): string[] {
  if (rule.consistency === 'eventual') return [`     bound    ${boundOf(rule, fleet)}`]
  return rule.consistency === 'sampled' ? [`     bound    ${sampledBoundOf(rule)}`] : []
}

/** Returns how much more than its rate a sampled rule may admit. */
function sampledBoundOf({ limit }: Rule): string {
  const chance = Number((100 * chanceOf(limit)).toPrecision(2))
  const { burst } = sampledRate(limit)
  return (
    `in a window, the limit ±${chance} % by chance, and once a burst of ${Math.floor(burst)}; ` +
    `when more is offered, the excess of ${formatDuration(2 * SAMPLE_MS)}`
  )
}

/** Returns how much more than its limit an eventual rule may admit. */
function boundOf({ limit, syncIntervalMs }: Rule, { nodes, rate }: Fleet): string {
  const counts = (nodes === undefined ? EXAMPLES : [nodes]).map(
    (count) => `${overAdmission(limit, count, syncIntervalMs, rate)} with ${count === 1 ? '1 node' : `${count} nodes`}`,
  )
  const lifeMs = eventualLifeMs(syncIntervalMs)
  const ofRate = `${rate ?? 'their rate'}${rate === undefined ? '' : '/s'} × ${formatDuration(lifeMs)}`
  return `over the limit by at most ${counts.join(', ')}: (nodes − 1) × the smaller of ${limit.capacity} and ${ofRate}`
}

const EXAMPLES = [2, 4, 16]

/** Lists what each tier makes of the descriptor, with an arrow at the chosen tier. */
function tierLines(tiers: readonly TierChoice[], given: string | undefined): string[] {
  if (tiers.length === 0) return []
  const isUnknown = given !== undefined && tiers.every(({ tier }) => tier !== given)
  const names = tiers.map(({ tier }) => tier ?? 'no tier')
  const width = Math.max(...names.map((name) => name.length))
  const lines = tiers.flatMap(({ rules, isTaken, isSilent }, i) => {
    const limits = rules.length === 0 ? ['not limited'] : rules.map(describeRule)
    return (isSilent ? ['as without a tier: it does not mention this'] : limits).map(
      (text, line) => `${line === 0 && isTaken ? '→ ' : '  '}${(line === 0 ? names[i] : '').padEnd(width)}  ${text}`,
    )
  })
  return [isUnknown ? `By tier (there is no tier ${JSON.stringify(given)}):` : 'By tier:', ...lines]
}

function remarks(steps: readonly ExplainedStep[], rules: readonly Rule[]): string[] {
  const lines: string[] = []
  if (steps.some(({ passedOver }) => passedOver.length > 0)) {
    lines.push(
      'An exact value comes before address blocks (the smallest first), then wildcards (in file order), then any.',
    )
  }
  if (rules.some(({ path }) => path.some(({ secret }) => secret))) {
    lines.push('Secret values are hashed, and differently on every installation.')
  }
  return lines
}
