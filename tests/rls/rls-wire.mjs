// @ts-check
import { fileURLToPath } from 'node:url'
import { Client, credentials } from '@grpc/grpc-js'
import protobuf from 'protobufjs'

/*
 * A client of Envoy's rate limit service that is not made of our code, and the short form in which
 * tests/fixtures/reference writes what is asked and answered.
 */

const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

const directory = fileURLToPath(new URL('../../server/proto/', import.meta.url))
const root = new protobuf.Root()
root.resolvePath = (_, target) => (target.startsWith('/') ? target : directory + target)
root.loadSync(['envoy/service/ratelimit/v3/rls.proto'])
const REQUEST = root.lookupType('envoy.service.ratelimit.v3.RateLimitRequest')
const RESPONSE = root.lookupType('envoy.service.ratelimit.v3.RateLimitResponse')

/**
 * A descriptor: `key=value, key=value`, or with all that one can have.
 * @typedef {string | {
 *   entries: [key: string, value: string][],
 *   hits?: number | string,
 *   negative?: boolean,
 *   limit?: [requestsPerUnit: number, unit: string | number],
 * }} Asked
 */

/**
 * A request: its descriptors, the hits of all of them, and the domain where it is not that of the case. Or its bytes.
 * @typedef {{descriptors: Asked[], hits?: number, domain?: string} | {bytes: string}} Ask
 */

/**
 * A case: rules by their name, what is asked in order, and what was answered and counted.
 * @typedef {{claim: string, rules: string, asks: Ask[], answers: unknown[], stats: Record<string, number>}} Case
 */

/**
 * A fixture: whose answers these are, the variables of its environment, rules by name, and the cases.
 * @typedef {{reference: string, settings: Record<string, string>, rules: Record<string, string>, cases: Case[]}} Fixture
 */

/** domainOf names the domain of the i-th case: each has one of its own, so that none counts what another asks.
 * @param {number} i */
export const domainOf = (i) => `d${i}`

/**
 * The rule file of the i-th case.
 * @param {Fixture} fixture
 * @param {number} i
 */
export const rulesOf = ({ rules, cases }, i) => `domain: ${domainOf(i)}\n${rules[cases[i].rules]}`

/**
 * Formats a request in the form of the protocol.
 * @param {Ask} ask
 * @param {string} domain
 */
export function encodeAsk(ask, domain) {
  if ('bytes' in ask) return Buffer.from(ask.bytes, 'hex')
  const message = {
    domain: ask.domain ?? domain,
    descriptors: ask.descriptors.map(descriptorOf),
    ...(ask.hits !== undefined && { hitsAddend: ask.hits }),
  }
  return Buffer.from(REQUEST.encode(REQUEST.fromObject(message)).finish())
}

/** @param {Asked} asked */
function descriptorOf(asked) {
  if (typeof asked === 'string') return { entries: asked === '' ? [] : asked.split(', ').map(entryOf) }
  const { entries, hits, negative, limit } = asked
  return {
    entries: entries.map(([key, value]) => ({ key, value })),
    ...(hits !== undefined && { hitsAddend: { value: hits } }),
    ...(negative !== undefined && { isNegativeHits: negative }),
    ...(limit !== undefined && { limit: { requestsPerUnit: limit[0], unit: limit[1] } }),
  }
}

/** @param {string} pair */
function entryOf(pair) {
  const at = pair.indexOf('=')
  return { key: pair.slice(0, at), value: pair.slice(at + 1) }
}

/** @typedef {{key: string, value: string}} Header */

const UNIT_SECONDS = /** @type {Record<string, number>} */ ({
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3_600,
  DAY: 86_400,
  WEEK: 604_800,
  MONTH: 2_592_000,
  YEAR: 31_536_000,
})

/**
 * Reads an answer. What depends on when it was asked is told by what it should be: the seconds until the window of the
 * unit ends are `window`.
 * @param {Uint8Array} bytes
 * @param {number} nowMs
 */
export function decodeAnswer(bytes, nowMs) {
  const told = RESPONSE.toObject(RESPONSE.decode(bytes), { enums: String, longs: Number, bytes: String })
  const resets = new Set()
  for (const status of told.statuses ?? []) {
    const seconds = status.durationUntilReset?.seconds ?? 0
    if (status.durationUntilReset === undefined) continue
    const unit = UNIT_SECONDS[status.currentLimit?.unit]
    // The second may have changed between the answer and the look at the clock.
    const isWindow = [0, 1].some((ago) => seconds === unit - (Math.floor(nowMs / 1_000 - ago) % unit))
    status.durationUntilReset = isWindow ? 'window' : seconds
    if (isWindow) resets.add(String(seconds))
  }
  for (const header of /** @type {Header[]} */ (told.responseHeadersToAdd ?? [])) {
    if (header.key.endsWith('Reset') && resets.has(header.value)) header.value = 'window'
  }
  if (told.dynamicMetadata !== undefined) told.dynamicMetadata = plainStruct(told.dynamicMetadata)
  return told
}

/**
 * The object that a Struct stands for, its keys in order. A limit is spelled with any number of spaces.
 * @param {{fields?: Record<string, unknown>}} struct
 * @returns {Record<string, unknown>}
 */
function plainStruct({ fields = {} }) {
  const names = Object.keys(fields).sort()
  return Object.fromEntries(names.map((name) => [name, plainValue(fields[name])]))
}

/** @param {any} value
 * @returns {unknown} */
function plainValue(value) {
  if (value.structValue !== undefined) return plainStruct(value.structValue)
  if (value.listValue !== undefined) return (value.listValue.values ?? []).map(plainValue)
  if (value.stringValue !== undefined) return value.stringValue.replace(/ +/g, ' ')
  if (value.nullValue !== undefined) return null
  return value.numberValue ?? value.boolValue
}

/**
 * Returns how to ask a rate limit service. A call that failed is answered `CODE: message`.
 * @param {string} address
 */
export function openRls(address) {
  const client = new Client(address, credentials.createInsecure())
  /** @param {Uint8Array} request
   * @param {() => number} now
   * @returns {Promise<unknown>} */
  const ask = (request, now = Date.now) =>
    new Promise((resolve) => {
      client.makeUnaryRequest(
        SHOULD_RATE_LIMIT,
        (/** @type {Uint8Array} */ bytes) => Buffer.from(bytes),
        (bytes) => bytes,
        request,
        (error, bytes) =>
          resolve(
            error === null
              ? decodeAnswer(/** @type {Buffer} */ (bytes), now())
              : `${error.code}: ${error.details.replace(/_\d{9,}/g, '_window')}`,
          ),
      )
    })
  return { ask, close: () => client.close() }
}
