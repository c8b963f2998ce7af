import { got, SluiceError } from 'sluice/internal/core/errors'
import { type Flags, parseFlags } from '../app/settings/flags.ts'
import { type Demand, MOST_SHARDS, type Size, sizeOf } from '../app/sizing/size-of.ts'

const FLAGS = [
  { flag: 'rate', value: 'N' },
  { flag: 'keys', value: 'N' },
  { flag: 'limits', value: 'N' },
  { flag: 'leased', value: 'SHARE' },
  { flag: 'compact-keys' },
  { flag: 'json' },
] as const

const MOST_PER_SECOND = 1e8
const MOST_KEYS = 1e11
const MOST_LIMITS = 100

/**
 * Returns how many nodes and shards a number of decisions and callers takes, from what decisions were measured to cost.
 */
export async function size(args: readonly string[]): Promise<void> {
  const flags = parseFlags('size', FLAGS, args)
  if (flags.rest.length > 0) throw new SluiceError('FLAG_UNKNOWN', 'size', got(flags.rest[0]))
  const demand = demandOf(flags)
  const needed = sizeOf(demand)
  process.stdout.write(flags.isOn('json') ? `${JSON.stringify({ ...demand, ...needed })}\n` : report(demand, needed))
}

function demandOf(flags: Flags): Demand {
  return {
    perSecond: amount('rate', required(flags, 'rate'), MOST_PER_SECOND),
    keys: amount('keys', required(flags, 'keys'), MOST_KEYS),
    limits: amount('limits', flags.last('limits') ?? '1', MOST_LIMITS),
    leased: shareOf(flags.last('leased') ?? '0%'),
    keyForm: flags.isOn('compact-keys') ? 'compact' : 'readable',
  }
}

function required(flags: Flags, flag: string): string {
  const value = flags.last(flag)
  if (value === undefined) throw new SluiceError('SIZE_INVALID', `--${flag}`, 'is not given')
  return value
}

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 }

/** Reads a whole number of at least 1, also as 500k, 1.5M or 2G. */
function amount(flag: string, text: string, most: number): number {
  const [, digits, unit] = /^([0-9]{1,12}(?:\.[0-9]{1,6})?)([kmg]?)$/i.exec(text.replaceAll('_', '')) ?? []
  const value = Number(digits) * UNITS[unit?.toLowerCase() ?? '']
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw new SluiceError('SIZE_INVALID', `--${flag}`, got(text))
  return value
}

/** Reads 90% or 0.9. */
function shareOf(text: string): number {
  const [, digits, percent] = /^([0-9]{1,3}(?:\.[0-9]{1,6})?)(%?)$/.exec(text) ?? []
  const value = Number(digits) / (percent === '%' ? 100 : 1)
  if (!(value >= 0 && value <= 1)) throw new SluiceError('SIZE_INVALID', '--leased', got(text))
  return value
}

function report(demand: Demand, needed: Size): string {
  const { perSecond, keys, limits, leased } = demand
  const plural = (number: number, word: string): string => `${formatted(number)} ${word}${number === 1 ? '' : 's'}`
  const byLease = leased > 0 ? `, ${Math.round(leased * 1_000) / 10} % answered by leases` : ''
  const isTooMuch = needed.shards === MOST_SHARDS && needed.shardBusy > 0.5
  return [
    `${plural(perSecond, 'decision')} a second, ${plural(keys, 'caller')}, ${plural(limits, 'limit')} each${byLease}`,
    '',
    `service  ${plural(needed.nodes, 'node')} with ${plural(needed.workersPerNode, 'worker')} each: ` +
      `${plural(needed.workersPerNode, 'core')} and ${mib(needed.memoryMibPerNode)} a node`,
    `         a worker is planned for ${formatted(Math.round(needed.workerPerSecond))} a second, half of what it can do`,
    `Redis    ${plural(needed.shards, 'shard')}, each at most half busy: ${needed.redisUs.toFixed(1)} µs a decision, ` +
      `${needed.decisionsPerCall.toFixed(1)} a call`,
    `         ${mib(needed.shardMemoryBytes / 2 ** 20)} of memory a shard (maxmemory), for ${bytes(needed.memoryBytes)} of ` +
      `counters of ${needed.counterBytes} bytes`,
    `         with a replica of each: ${plural(2 * needed.shards, 'server')}`,
    ...(isTooMuch
      ? ['', 'This is more than a cluster of 32 shards carries: lease the busiest limits, or divide the callers.']
      : []),
    '',
    'Measured on one machine, computed for yours: docs/sizing.md says how, and how to measure it again.',
    '',
  ].join('\n')
}

const formatted = (number: number): string => number.toLocaleString('en-US')
const mib = (size: number): string =>
  size >= 1_024 ? `${Math.ceil((size / 1_024) * 10) / 10} GiB` : `${Math.ceil(size)} MiB`
const bytes = (size: number): string =>
  size >= 1e9
    ? `${(size / 1e9).toFixed(1)} GB`
    : size >= 1e6
      ? `${(size / 1e6).toFixed(1)} MB`
      : `${Math.ceil(size / 1e3)} kB`
