import { got, SluiceError } from 'sluice/internal/core/errors'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { Suggester } from '../simulate/suggest/suggest.ts'
import { openTraffic } from '../simulate/traffic/open-traffic.ts'
import { MAPPING_FLAGS, mappingOf, numberOf, replayOptionsOf } from './simulate/options.ts'
import { ReplayProgress } from './simulate/progress.ts'

const MAPPED = MAPPING_FLAGS.filter(({ flag }) => flag !== 'descriptor' && flag !== 'without')
const FLAGS = [
  { flag: 'traffic', value: 'LOG' },
  ...MAPPED,
  { flag: 'out-of-order', value: 'TIME' },
  { flag: 'spread' },
  { flag: 'percentile', value: 'P' },
  { flag: 'head-room', value: 'PERCENT' },
  { flag: 'endpoints', value: 'N' },
] as const

const DEFAULT_PERCENTILE = 99
const DEFAULT_HEAD_ROOM = 50
const DEFAULT_ENDPOINTS = 10
const MOST_ENDPOINTS = 100
const DEFAULT_DOMAIN = 'api'
/** The traffic is measured, and then replayed. */
const PASSES = 2

/** Proposes limits for the traffic of access logs, as a rule file in shadow mode. */
export async function suggest(args: readonly string[]): Promise<void> {
  const flags = parseFlags('suggest', FLAGS, args)
  const logs = flags.all('traffic')
  if (flags.rest.length > 0) throw new SluiceError('FLAG_UNKNOWN', 'suggest', got(flags.rest[0]))
  if (logs.length === 0) throw new SluiceError('ARGUMENT_MISSING', 'suggest', 'no --traffic given')
  // It is read twice: to measure, and to try what was proposed.
  if (logs.includes('-')) throw new SluiceError('TRAFFIC_READ_TWICE', '--traffic', got('-'))
  const { entries, caller, trust } = mappingOf(flags, [])
  const { format, sources, windowMs, isSpread } = replayOptionsOf(flags, process.env)
  const options = { logs, format, sources, windowMs, isSpread, entries, caller, trust }
  const suggester = new Suggester({
    ...options,
    domain: flags.last('domain') ?? DEFAULT_DOMAIN,
    percentile: percentOf(flags, 'percentile', DEFAULT_PERCENTILE, 100),
    headRoom: 1 + percentOf(flags, 'head-room', DEFAULT_HEAD_ROOM, 1_000) / 100,
    mostEndpoints: numberOf(flags, 'endpoints', DEFAULT_ENDPOINTS, MOST_ENDPOINTS),
    progressed: () => progress.update(),
  })
  const sizeBytes = PASSES * logs.reduce((sum, log) => sum + (openTraffic(log).sizeBytes ?? 0), 0)
  const read = { sizeBytes, readBytes: () => suggester.readBytes() }
  const progress = new ReplayProgress([read], () => suggester.lines)
  const yaml = await suggester.suggest().finally(() => progress.end())
  process.stdout.write(yaml)
}

/** Reads `99`, `99.9` or `50%`. */
function percentOf(flags: Flags, flag: string, otherwise: number, most: number): number {
  const text = flags.last(flag)
  if (text === undefined) return otherwise
  const value = /^[0-9]{1,4}(?:\.[0-9]{1,3})?%?$/.test(text) ? Number.parseFloat(text) : Number.NaN
  if (value >= 0 && value <= most) return value
  throw new SluiceError('PERCENT_INVALID', `--${flag}`, `${got(text)}; at most ${most}`)
}
