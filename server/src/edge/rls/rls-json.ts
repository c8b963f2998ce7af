import { SluiceError } from 'sluice/internal/core/errors'
import { MAX_COUNT, TOO_MUCH } from 'sluice/internal/core/limit'
import type { Entry, LimitOverride } from 'sluice/internal/core/request'
import { shownName } from '../shown-name.ts'
import {
  dynamicMetadata,
  ledgerBody,
  ledgerHeaders,
  limitHeaders,
  OK,
  type RlsAnswer,
  type Status,
} from './rls-answer.ts'
import type { RlsOptions } from './rls-options.ts'
import { MAX_DESCRIPTORS, MAX_ENTRIES, type RlsDescriptor, type RlsRequest } from './rls-request.ts'

/**
 * Reads a RateLimitRequest in the JSON form of protobuf: names in camelCase or as in the .proto file, numbers as
 * numbers or texts, enums by name or number, null for what is not there. What it does not know is an error.
 */
export function parseRlsJson(body: string): RlsRequest {
  const request = new Fields(jsonOf(body), 'body')
  const domain = request.text('domain')
  const hitsAddend = request.whole('hitsAddend', MAX_COUNT) ?? 0
  const cost = Math.max(1, hitsAddend)
  const descriptors = request
    .list('descriptors', MAX_DESCRIPTORS)
    .map((value, i) => descriptorOf(new Fields(value, `body.descriptors[${i}]`), cost))
  request.end()
  return { domain, descriptors, cost, hitsAddend }
}

function descriptorOf(fields: Fields, requestCost: number): RlsDescriptor {
  const entries = fields
    .list('entries', MAX_ENTRIES)
    .map((value, i) => entryOf(new Fields(value, `${fields.where}.entries[${i}]`)))
  const limit = overrideOf(fields.part('limit'))
  const hitsAddend = fields.whole('hitsAddend', 2 ** 64)
  const isNegative = fields.flag('isNegativeHits')
  fields.end()
  const asked = hitsAddend ?? requestCost
  const hits = asked <= MAX_COUNT ? asked : isNegative ? MAX_COUNT : TOO_MUCH
  const cost = hitsAddend === undefined && !isNegative ? undefined : isNegative && hits > 0 ? -hits : hits
  return { entries, cost, limit, hitsAddend }
}

function entryOf(fields: Fields): Entry {
  const entry = { key: fields.text('key'), value: fields.text('value') }
  fields.end()
  return entry
}

const UNITS = ['unknown', 'second', 'minute', 'hour', 'day', 'month', 'year', 'week'] as const

function overrideOf(fields: Fields | undefined): LimitOverride | undefined {
  if (fields === undefined) return undefined
  const unit = UNITS[fields.choice('unit', UNITS)]
  const override = {
    requestsPerUnit: fields.whole('requestsPerUnit', MAX_COUNT) ?? 0,
    unitMultiplier: fields.whole('unitMultiplier', MAX_COUNT),
  }
  fields.end()
  if (unit === 'unknown') throw invalid(`${fields.where}.unit`, 'the unit of time is missing')
  return { ...override, unit }
}

/** Reads the fields of one JSON object, and keeps track of unknown ones. */
class Fields {
  readonly where: string
  readonly #values = new Map<string, unknown>()
  /** The written names of the fields that have not been read yet. */
  readonly #keysByName = new Map<string, string>()

  constructor(value: unknown, where: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(where, 'expected an object')
    this.where = where
    for (const [key, each] of Object.entries(value)) {
      const name = camelCase(key)
      if (this.#values.has(name)) throw invalid(where, `${JSON.stringify(name)} is there twice`)
      this.#values.set(name, each)
      this.#keysByName.set(name, key)
    }
  }

  /** Refuses fields that are left over: a typo must not be ignored. */
  end(): void {
    for (const key of this.#keysByName.values()) throw invalid(this.where, `unknown field ${shownName(key)}`)
  }

  text(name: string): string {
    const value = this.#take(name) ?? ''
    if (typeof value !== 'string') throw invalid(`${this.where}.${name}`, 'expected a text')
    return value
  }

  flag(name: string): boolean {
    const value = this.#take(name) ?? false
    if (typeof value !== 'boolean') throw invalid(`${this.where}.${name}`, 'expected true or false')
    return value
  }

  list(name: string, most: number): readonly unknown[] {
    const value = this.#take(name) ?? []
    if (!Array.isArray(value)) throw invalid(`${this.where}.${name}`, 'expected a list')
    if (value.length > most) throw invalid(`${this.where}.${name}`, `more than ${most}`)
    return value
  }

  part(name: string): Fields | undefined {
    const value = this.#take(name)
    return value === undefined ? undefined : new Fields(value, `${this.where}.${name}`)
  }

  whole(name: string, most: number): number | undefined {
    const value = this.#take(name)
    if (value === undefined) return undefined
    // Number('') is 0, and Number(' 1') is 1.
    const number = typeof value === 'string' && /^[-+.\dEe]+$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= most) return number
    throw invalid(`${this.where}.${name}`, 'expected a whole number from 0')
  }

  /** Reads an enum, by name or number, and returns its number. */
  choice(name: string, names: readonly string[]): number {
    const value = this.#take(name) ?? 0
    const number = typeof value === 'string' ? names.indexOf(value.toLowerCase()) : value
    if (typeof number === 'number' && names[number] !== undefined) return number
    throw invalid(`${this.where}.${name}`, `expected one of ${names.join(', ').toUpperCase()}`)
  }

  #take(name: string): unknown {
    const value = this.#values.get(name)
    this.#keysByName.delete(name)
    return value === null ? undefined : value
  }
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw invalid('body', 'not JSON')
  }
}

function invalid(where: string, detail: string): SluiceError {
  return new SluiceError('RLS_REQUEST_INVALID', where, detail)
}

/** Formats a RateLimitResponse in the JSON form of protobuf. */
export function rlsAnswerJson(request: RlsRequest, answer: RlsAnswer, options: RlsOptions): object {
  const { refusedBy } = answer
  const responseHeaders = [
    ...limitHeaders(answer, options.responseHeaders),
    ...ledgerHeaders(answer),
    ...(refusedBy?.headers ?? []),
  ]
  const body = ledgerBody(answer) ?? refusedBy?.body
  const requestHeaders = limitHeaders(answer, options.requestHeaders)
  return {
    overallCode: codeName(answer.overallCode),
    statuses: answer.statuses.slice(0, answer.size).map(statusJson),
    ...(responseHeaders.length > 0 && { responseHeadersToAdd: responseHeaders }),
    ...(requestHeaders.length > 0 && { requestHeadersToAdd: requestHeaders }),
    ...(body !== undefined && { rawBody: Buffer.from(body).toString('base64') }),
    ...(options.dynamicMetadata === true && { dynamicMetadata: dynamicMetadata(request, answer, options) }),
  }
}

function statusJson({ code, binding, form, remaining, resetSeconds }: Status): object {
  const limit = binding?.rule.limit.max ?? 0
  return {
    code: codeName(code),
    ...(form !== undefined && {
      currentLimit: {
        ...(limit > 0 && { requestsPerUnit: limit }),
        ...(form.unit !== 'UNKNOWN' && { unit: form.unit }),
        ...(form.name !== '' && { name: form.name }),
        ...(form.multiplier !== 1 && { unitMultiplier: form.multiplier }),
      },
    }),
    ...(remaining > 0 && { limitRemaining: remaining }),
    ...(form !== undefined && { durationUntilReset: `${resetSeconds}s` }),
  }
}

function codeName(code: number): string {
  return code === OK ? 'OK' : 'OVER_LIMIT'
}
