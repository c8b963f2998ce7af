import { SluiceError } from 'sluice/internal/core/errors'
import type { CheckRequest, Descriptor, Entry, LimitOverride } from 'sluice/internal/core/request'
import type { Priority } from 'sluice/internal/core/shedding/priority'
import { MalformedMessage, type ProtoReader } from '../../protobuf/reader.ts'
import { MAX_LEASES } from '../leases/renew-leases.ts'
import { MAX_DESCRIPTORS, MAX_ENTRIES, readEntry, UNITS } from '../rls/rls-request.ts'

export const MAX_REQUESTS = 256
/** One for each request. A limit that was not seen before is compiled, which takes as long as deciding ten requests. */
export const MAX_LIMITS = 256
/** Fields of a message of several requests. */
export const MAX_BATCH_FIELDS = 32_768

/** Reads sluice.v1.CheckRequest. */
export function decodeCheckRequest(reader: ProtoReader, bytes: Uint8Array): readonly CheckRequest[] {
  const requests: CheckRequest[] = []
  const end = bytes.length
  reader.open(bytes, 0, end, MAX_BATCH_FIELDS)
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag !== 0x0a) reader.skip(tag, end)
    else if (requests.length === MAX_REQUESTS) throw new MalformedMessage(`more than ${MAX_REQUESTS} requests`)
    else requests.push(readRequest(reader, reader.part(end), new Request()))
  }
  reader.close()
  if (countLimits(requests) > MAX_LIMITS)
    throw new SluiceError('LIMITS_TOO_MANY', 'requests', `more than ${MAX_LIMITS}`)
  return requests
}

function countLimits(requests: readonly CheckRequest[]): number {
  let limits = 0
  for (const { descriptors } of requests) for (const { limit } of descriptors) if (limit !== undefined) limits++
  return limits
}

/** Reads sluice.v1.AcquireRequest. */
export function decodeAcquireRequest(reader: ProtoReader, bytes: Uint8Array): CheckRequest {
  const request = new Request()
  const end = bytes.length
  reader.open(bytes, 0, end, MAX_BATCH_FIELDS)
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) readRequest(reader, reader.part(end), request)
    else reader.skip(tag, end)
  }
  reader.close()
  return request
}

/** Reads sluice.v1.ReleaseRequest, and returns the lease. */
export function decodeReleaseRequest(reader: ProtoReader, bytes: Uint8Array): string {
  let lease = ''
  const end = bytes.length
  reader.open(bytes, 0, end, MAX_BATCH_FIELDS)
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) lease = reader.text(reader.part(end))
    else reader.skip(tag, end)
  }
  reader.close()
  return lease
}

/** Reads sluice.v1.RenewRequest, and returns the leases. */
export function decodeRenewRequest(reader: ProtoReader, bytes: Uint8Array): readonly string[] {
  const leases: string[] = []
  const end = bytes.length
  reader.open(bytes, 0, end, MAX_BATCH_FIELDS)
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag !== 0x0a) reader.skip(tag, end)
    else if (leases.length === MAX_LEASES) throw new MalformedMessage(`more than ${MAX_LEASES} leases`)
    else leases.push(reader.text(reader.part(end)))
  }
  reader.close()
  return leases
}

// Made once: a request that asks for nothing has two bytes, and an error with its stack takes as long as many
// decisions.
const NO_DOMAIN = new SluiceError('REQUEST_INVALID', 'domain', 'rate limit domain must not be empty')
const NO_DESCRIPTORS = new SluiceError('REQUEST_INVALID', 'descriptors', 'rate limit descriptor list must not be empty')

const NO_PRIORITY = new SluiceError('REQUEST_INVALID', 'priority', 'no priority has this number')

/** Refuses what asks for nothing, as every door does, and a priority that there is not. */
export function checkRequest({ domain, descriptors, priority = 0 }: CheckRequest): void {
  if (domain === '') throw NO_DOMAIN
  if (priority > LAST_PRIORITY) throw NO_PRIORITY
  if (descriptors.length === 0) throw NO_DESCRIPTORS
  for (const [i, { limit }] of descriptors.entries()) {
    if (limit !== undefined && limit.unit === undefined) {
      throw new SluiceError('REQUEST_INVALID', `descriptors[${i}].limit.unit`, 'the unit of time is missing')
    }
  }
}

const LAST_PRIORITY: Priority = 3

class Request implements CheckRequest {
  domain = ''
  cost = 1
  /** As its sender numbers it: checkRequest refuses what is none. */
  priority: Priority | undefined = undefined
  readonly descriptors: Described[] = []
}

class Described implements Descriptor {
  readonly entries: Entry[] = []
  cost: number | undefined = undefined
  limit: Override | undefined = undefined
}

class Override implements LimitOverride {
  requestsPerUnit = 0
  /** Undefined until it is read; checkRequest refuses an override without. */
  unit!: LimitOverride['unit']
  unitMultiplier = 1
}

function readRequest(reader: ProtoReader, end: number, request: Request): Request {
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) request.domain = reader.name(reader.part(end))
    else if (tag === 0x12) request.descriptors.push(readDescriptor(reader, reader.part(end), request))
    else if (tag === 0x18) request.cost = reader.sint64(end)
    else if (tag === 0x20) request.priority = readPriority(reader.uint32(end))
    else reader.skip(tag, end)
  }
  return request
}

/** readPriority: on the wire 0 is none, and 1 is critical. */
function readPriority(number: number): Priority | undefined {
  return number === 0 ? undefined : ((number - 1) as Priority)
}

function readDescriptor(reader: ProtoReader, end: number, { descriptors }: Request): Described {
  if (descriptors.length === MAX_DESCRIPTORS) throw new MalformedMessage(`more than ${MAX_DESCRIPTORS} descriptors`)
  const descriptor = new Described()
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) {
      if (descriptor.entries.length === MAX_ENTRIES) throw new MalformedMessage(`more than ${MAX_ENTRIES} entries`)
      descriptor.entries.push(readEntry(reader, reader.part(end)))
    } else if (tag === 0x10) descriptor.cost = reader.sint64(end)
    else if (tag === 0x1a) {
      descriptor.limit ??= new Override()
      readOverride(reader, reader.part(end), descriptor.limit)
    } else reader.skip(tag, end)
  }
  return descriptor
}

function readOverride(reader: ProtoReader, end: number, override: Override): void {
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x08) override.requestsPerUnit = reader.uint32(end)
    else if (tag === 0x10) override.unit = UNITS[reader.uint32(end)] as LimitOverride['unit']
    else if (tag === 0x18) override.unitMultiplier = reader.uint32(end)
    else reader.skip(tag, end)
  }
}
