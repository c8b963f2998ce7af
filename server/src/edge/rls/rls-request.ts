import { MAX_COUNT, TOO_MUCH } from 'sluice/internal/core/limit'
import type { CheckRequest, Descriptor, Entry, LimitOverride } from 'sluice/internal/core/request'
import { MalformedMessage, type ProtoReader } from '../../protobuf/reader.ts'

export const MAX_DESCRIPTORS = 64
export const MAX_ENTRIES = 32
/**
 * How long a message may be: as envoyproxy/ratelimit takes it, where it is the default of grpc-go. Envoy takes 60 KiB
 * of headers, and may put one header into several descriptors: a caller who could make the message too long would pass
 * without a limit, where Envoy lets calls pass that failed.
 */
export const MAX_MESSAGE_BYTES = 4_194_304
/** Fields of a message: all that 64 descriptors with 32 entries can have, and some that a later version may add. */
export const MAX_FIELDS = 8_192

/** Envoy.service.ratelimit.v3.RateLimitRequest as the engine reads it. */
export interface RlsRequest extends CheckRequest {
  readonly descriptors: readonly RlsDescriptor[]
  readonly cost: number
  /** As it was sent: 0 stands for 1. */
  readonly hitsAddend: number
}

/** Envoy.extensions.common.ratelimit.v3.RateLimitDescriptor as the engine reads it. */
export interface RlsDescriptor extends Descriptor {
  /** As it was sent, and undefined where it was not. */
  readonly hitsAddend: number | undefined
}

/** Returns the names of the units by their numbers. The type of overrides has no WEEK, which other clients may send. */
export const UNITS: readonly (LimitOverride['unit'] | undefined)[] = [
  undefined,
  'second',
  'minute',
  'hour',
  'day',
  'month',
  'year',
  'week',
]

class Request implements RlsRequest {
  domain = ''
  cost = 1
  hitsAddend = 0
  readonly descriptors: Described[] = []
}

class Described implements RlsDescriptor {
  readonly entries: Entry[] = []
  cost: number | undefined = undefined
  limit: LimitOverride | undefined = undefined
  hitsAddend: number | undefined = undefined
  isNegative = false
}

/**
 * Reads a RateLimitRequest. As in every protobuf reader, fields come in any order, the last of several counts, parts of
 * one message add up, and what is not known is passed over. A hits_addend of 0 on the request means 1 (that is what
 * Envoy sends); on a descriptor it looks without charging. is_negative_hits gives back.
 */
export function decodeRlsRequest(
  reader: ProtoReader,
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): RlsRequest {
  const request = new Request()
  reader.open(bytes, start, end, MAX_FIELDS)
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x12) request.descriptors.push(readDescriptor(reader, reader.part(end), request))
    else if (tag === 0x0a) request.domain = reader.name(reader.part(end))
    else if (tag === 0x18) request.hitsAddend = reader.uint32(end)
    else reader.skip(tag, end)
  }
  reader.close()
  if (request.hitsAddend > 1) request.cost = request.hitsAddend
  for (let i = 0; i < request.descriptors.length; i++) settle(request.descriptors[i], request.cost)
  return request
}

/** Computes what a descriptor costs. It waits for the request's own addend, which may come last. */
function settle(descriptor: Described, cost: number): void {
  const { hitsAddend, isNegative } = descriptor
  if (hitsAddend === undefined && !isNegative) return
  // More than any limit is as good as infinite. And 0 has no sign.
  const asked = hitsAddend ?? cost
  const hits = asked <= MAX_COUNT ? asked : isNegative ? MAX_COUNT : TOO_MUCH
  descriptor.cost = isNegative && hits > 0 ? -hits : hits
}

function readDescriptor(reader: ProtoReader, end: number, { descriptors }: Request): Described {
  if (descriptors.length === MAX_DESCRIPTORS) throw new MalformedMessage(`more than ${MAX_DESCRIPTORS} descriptors`)
  const descriptor = new Described()
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) {
      if (descriptor.entries.length === MAX_ENTRIES) throw new MalformedMessage(`more than ${MAX_ENTRIES} entries`)
      descriptor.entries.push(readEntry(reader, reader.part(end)))
    } else if (tag === 0x12) descriptor.limit = readOverride(reader, reader.part(end), descriptor.limit)
    else if (tag === 0x1a) descriptor.hitsAddend = readWrapped(reader, reader.part(end), descriptor.hitsAddend ?? 0)
    else if (tag === 0x20) descriptor.isNegative = reader.uint64(end) !== 0
    else reader.skip(tag, end)
  }
  if (descriptor.limit !== undefined && descriptor.limit.unit === undefined) {
    throw new MalformedMessage('a limit has no unit of time')
  }
  return descriptor
}

/** Reads a key (1) and a value (2): Envoy's entries and ours have the same encoding. */
export function readEntry(reader: ProtoReader, end: number): Entry {
  let key = ''
  let value = ''
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) key = reader.name(reader.part(end))
    else if (tag === 0x12) value = reader.text(reader.part(end))
    else reader.skip(tag, end)
  }
  return { key, value }
}

function readOverride(reader: ProtoReader, end: number, before: LimitOverride | undefined): LimitOverride {
  let { requestsPerUnit, unit, unitMultiplier } = before ?? NO_OVERRIDE
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x08) requestsPerUnit = reader.uint32(end)
    else if (tag === 0x10) unit = UNITS[reader.uint32(end)]
    else if (tag === 0x1a) unitMultiplier = readWrapped(reader, reader.part(end), unitMultiplier ?? 0)
    else reader.skip(tag, end)
  }
  // A unit that is missing is reported when the whole descriptor was read.
  return { requestsPerUnit, unit: unit as LimitOverride['unit'], unitMultiplier }
}

const NO_OVERRIDE: { readonly [K in keyof LimitOverride]: LimitOverride[K] | undefined } & {
  readonly requestsPerUnit: number
} = { requestsPerUnit: 0, unit: undefined, unitMultiplier: undefined }

/** Reads google.protobuf.UInt64Value or UInt32Value: a number that can be distinguished from one that was not sent. */
function readWrapped(reader: ProtoReader, end: number, before: number): number {
  let value = before
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x08) value = reader.uint64(end)
    else reader.skip(tag, end)
  }
  return value
}
