import { ProtoReader } from '../../protobuf/reader.ts'
import { type DecodeBudget, type DecodePosition, spend } from './decode-budget.ts'
import { readStruct } from './struct.ts'
import { readText } from './texts.ts'

/** A resource: what it is called, and a rule file as plain values. */
export interface RateLimitConfig {
  readonly name: string
  readonly value: { readonly domain: string; readonly descriptors: readonly object[] }
}

/** RateLimitUnit, by number. */
const UNIT_NAMES: readonly string[] = ['unknown', 'second', 'minute', 'hour', 'day', 'month', 'year', 'week']

/**
 * Reads a ratelimit.config.ratelimit.v3.RateLimitConfig, and returns it in the words of rule files. What the rule
 * language does not have is left as it is, for its check to name the place. It throws a MalformedMessage.
 */
export function decodeConfig(bytes: Uint8Array, budget: DecodeBudget): RateLimitConfig {
  const reader = new ProtoReader()
  const end = bytes.length
  let [name, domain] = ['', '']
  const descriptors: object[] = []
  reader.open(bytes, 0, end)
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) name = readText(reader, reader.part(end))
    else if (tag === 0x12) domain = readText(reader, reader.part(end))
    else if (tag === 0x1a) descriptors.push(readDescriptor(reader, reader.part(end), { budget, depth: 1 }))
    else reader.skip(tag, end)
  }
  return { name: name || domain, value: { domain, descriptors } }
}

function readDescriptor(reader: ProtoReader, end: number, place: DecodePosition): object {
  const within = spend(place)
  const found: Record<string, unknown> = { key: '' }
  const below: object[] = []
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) found.key = readText(reader, reader.part(end))
    else if (tag === 0x12) set(found, 'value', readText(reader, reader.part(end)))
    else if (tag === 0x1a) found.rate_limit = readPolicy(reader, reader.part(end), within)
    else if (tag === 0x22) below.push(readDescriptor(reader, reader.part(end), within))
    else if (tag === 0x28) set(found, 'shadow_mode', reader.uint64(end) !== 0)
    else if (tag === 0x30) set(found, 'detailed_metric', reader.uint64(end) !== 0)
    else if (tag === 0x38) set(found, 'quota_mode', reader.uint64(end) !== 0)
    else if (tag === 0x42) found.metadata = readStruct(reader, reader.part(end), within)
    else reader.skip(tag, end)
  }
  if (below.length > 0) found.descriptors = below
  return found
}

/** Notes a value. On the wire, an empty text and a switch that is off are as if they were not there. */
function set(found: Record<string, unknown>, key: string, value: string | boolean): void {
  if (value) found[key] = value
}

function readPolicy(reader: ProtoReader, end: number, place: DecodePosition): object {
  let [unit, requests, isUnlimited] = [0, 0, false]
  const found: Record<string, unknown> = {}
  const replaces: object[] = []
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x08) unit = reader.uint32(end)
    else if (tag === 0x10) requests = reader.uint32(end)
    else if (tag === 0x18) isUnlimited = reader.uint64(end) !== 0
    else if (tag === 0x22) set(found, 'name', readText(reader, reader.part(end)))
    else if (tag === 0x2a) replaces.push(readReplaces(reader, reader.part(end), place))
    else reader.skip(tag, end)
  }
  if (replaces.length > 0) found.replaces = replaces
  if (isUnlimited) found.unlimited = true
  // A number is never absent on the wire. With `unlimited`, 0 means nothing.
  if (!isUnlimited || unit !== 0) found.unit = UNIT_NAMES[unit] ?? String(unit)
  if (!isUnlimited || requests !== 0) found.requests_per_unit = requests
  return found
}

function readReplaces(reader: ProtoReader, end: number, place: DecodePosition): object {
  spend(place)
  let name = ''
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) name = readText(reader, reader.part(end))
    else reader.skip(tag, end)
  }
  return { name }
}
