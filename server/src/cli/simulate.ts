import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { SluiceError } from 'sluice/internal/core/errors'
import { loadRules, type RuleText } from 'sluice/internal/core/rules/load'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { withRoutes } from '../app/gateway/with-routes.ts'
import { readRules } from '../app/rules/read-rules.ts'
import { compileOptionsOf, limiterPartsOf } from '../app/settings/compatibility.ts'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { evaluate, type MetCondition } from '../simulate/report/conditions.ts'
import { htmlReport } from '../simulate/report/html.ts'
import { resultOf, type SimulationResult } from '../simulate/report/result.ts'
import { textReport } from '../simulate/report/text.ts'
import { type SimulatedRules, Simulation } from '../simulate/simulation.ts'
import { openTraffic } from '../simulate/traffic/open-traffic.ts'
import { domainOf } from './descriptor.ts'
import { COMPATIBILITY_FLAG, givenCompatibility } from './given-compatibility.ts'
import { conditionsOf, MAPPING_FLAGS, mappingOf, REPLAY_FLAGS, replayOptionsOf, topOf } from './simulate/options.ts'
import { ReplayProgress } from './simulate/progress.ts'
import { plainText } from './top/shown-text.ts'

const FLAGS = [
  { flag: 'traffic', value: 'LOG' },
  { flag: 'against', value: 'OLD_RULES' },
  ...MAPPING_FLAGS,
  ...REPLAY_FLAGS,
  { flag: 'merge-domains' },
  COMPATIBILITY_FLAG,
  { flag: 'top', value: 'N' },
  { flag: 'json' },
  { flag: 'html', value: 'FILE' },
  { flag: 'decisions', value: 'FILE' },
  { flag: 'fail-if', value: 'CONDITION' },
] as const

/** The exit code of a run that a condition of --fail-if fails. 1 is an error. */
const EXIT_FAILED = 2

/** Replays access logs through rules, and reports what would have been refused. */
export async function simulate(args: readonly string[]): Promise<void> {
  const flags = parseFlags('simulate', FLAGS, args)
  const logs = flags.all('traffic')
  if (flags.rest.length === 0) throw new SluiceError('ARGUMENT_MISSING', 'simulate', 'no rules given')
  if (logs.length === 0) throw new SluiceError('ARGUMENT_MISSING', 'simulate', 'no --traffic given')
  const conditions = conditionsOf(flags)
  const top = topOf(flags)
  const mapping = mappingOf(flags, conditions)
  const now = await simulatedRules(flags.rest, flags)
  const against = flags.all('against')
  const before = against.length === 0 ? undefined : await simulatedRules(against, flags)
  const decisions = lineFile(flags.last('decisions'))
  const compatibility = givenCompatibility(flags, process.env)
  const simulation = new Simulation({
    now,
    before,
    mapping,
    ...replayOptionsOf(flags, process.env),
    parts: limiterPartsOf({ compatibility, stopsWhenOverLimit: false }),
    decisions: decisions?.write,
  })
  await replayAll(simulation, logs)
  decisions?.close()
  const met = conditions.map((condition) => evaluate(condition, simulation))
  report(resultOf(simulation, { names: logs, domains: domainsOf(now), top, conditions: met }), flags, met)
}

async function replayAll(simulation: Simulation, logs: readonly string[]): Promise<void> {
  const all = logs.map((log) => openTraffic(log))
  const progress = new ReplayProgress(all, () => simulation.read.lines)
  try {
    for (const traffic of all) await simulation.replay(traffic, progress.update)
    simulation.finish()
  } finally {
    progress.end()
  }
}

function report(result: SimulationResult, flags: Flags, conditions: readonly MetCondition[]): void {
  const html = flags.last('html')
  if (html !== undefined) writeNamed(html, htmlReport(result))
  process.stdout.write(flags.isOn('json') ? `${JSON.stringify(result)}\n` : textReport(result, plainText))
  if (conditions.some(({ isMet }) => isMet)) process.exitCode = EXIT_FAILED
}

/** Reads rules as serve would. */
async function simulatedRules(places: readonly string[], flags: Flags): Promise<SimulatedRules> {
  const options = compileOptionsOf(flags.isOn('merge-domains'), givenCompatibility(flags, process.env))
  const rules = loadRules(withoutRoutes(await readRules(places, flags)), options)
  const isOpen = flags.last('format') === 'decisions' && flags.last('domain') === undefined
  return { rules, domain: isOpen ? undefined : chosenDomain(rules, flags.last('domain')) }
}

/** Returns the domain of a name. A decision log has domains: without a name, all of the rules are meant. */
function chosenDomain(rules: RuleSet, name: string | undefined) {
  return name === undefined && rules.domains.size !== 1 ? undefined : domainOf(rules, name)
}

/** A gateway reads more of a request than a log has of it. */
function withoutRoutes(texts: readonly RuleText[]) {
  const { inputs, routes } = withRoutes(texts)
  if (routes.length === 0) return inputs
  throw new SluiceError('ROUTES_NOT_SIMULATED', 'simulate', 'a routes file of the gateway was given')
}

function domainsOf({ rules, domain }: SimulatedRules) {
  return domain === undefined ? [...rules.domains.values()] : [domain]
}

const BUFFERED = 1_000

/** Opens a file that lines are written to, many at a time. */
function lineFile(name: string | undefined) {
  if (name === undefined) return undefined
  const file = named(name, () => openSync(name, 'w'))
  let lines: string[] = []
  const flush = (): void => {
    named(name, () => writeSync(file, lines.join('')))
    lines = []
  }
  const write = (line: string): void => {
    lines.push(line)
    if (lines.length >= BUFFERED) flush()
  }
  const close = (): void => {
    flush()
    closeSync(file)
  }
  return { write, close }
}

function writeNamed(name: string, text: string): void {
  named(name, () => writeFileSync(name, text))
}

/** Names the file in the error of what cannot be written. */
function named<T>(name: string, write: () => T): T {
  try {
    return write()
  } catch (error) {
    throw new SluiceError('REPORT_UNWRITABLE', name, (error as NodeJS.ErrnoException).code ?? 'cannot be written')
  }
}
