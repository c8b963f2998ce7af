import { loadRules } from 'sluice/internal/core/rules/load'
import { RulesError } from 'sluice/internal/core/rules/problems'
import { describe, expect, it } from 'vitest'
import { CONFIG, domainOf, REQUEST, RESPONSE, resourceOf, TYPE_URL } from '../../../../tests/xds/protos.suite.ts'
import { decodeResponse, encodeRequest } from './discovery.ts'
import { decodeConfig } from './rate-limit-config.ts'
import { XdsResources } from './xds-resources.ts'

const decoded = (config: object) => decodeConfig(CONFIG.encode(config), { parts: 1_000 })

/** What becomes of a descriptor. */
const ofDescriptor = (descriptor: object): object => decoded({ descriptors: [descriptor] }).value.descriptors[0]

const ofPolicy = (rate_limit: object): unknown =>
  (ofDescriptor({ key: 'k', rate_limit }) as { rate_limit: unknown }).rate_limit

const responseOf = (resources: readonly object[], more: object = {}): Buffer =>
  RESPONSE.encode({ version_info: 'v1', type_url: TYPE_URL, nonce: 'n1', resources, ...more })

describe('a DiscoveryRequest', () => {
  it('asks for all rate limits, and says who asks', () => {
    const node = { id: 'a', metadata: { zone: 'z', empty: '' } }
    expect(REQUEST.decode(encodeRequest({ node }))).toEqual({
      node: { id: 'a', metadata: { fields: { zone: { stringValue: 'z' }, empty: { stringValue: '' } } } },
      type_url: TYPE_URL,
    })
  })

  it('reports which version was accepted, and what is wrong with another', () => {
    const node = { id: 'ä', metadata: {} }
    expect(REQUEST.decode(encodeRequest({ node, version: '7', nonce: 'n', error: 'wrong' }))).toEqual({
      version_info: '7',
      node: { id: 'ä' },
      type_url: TYPE_URL,
      response_nonce: 'n',
      error_detail: { code: 3, message: 'wrong' },
    })
  })
})

describe('a DiscoveryResponse', () => {
  it('is read as protobufjs writes it', () => {
    expect(decodeResponse(responseOf([resourceOf(domainOf('a'))], { canary: true }))).toEqual({
      version: 'v1',
      nonce: 'n1',
      typeUrl: TYPE_URL,
      resources: [{ typeUrl: TYPE_URL, value: CONFIG.encode(domainOf('a')) }],
    })
  })

  it.each([
    ['half of one', responseOf([resourceOf(domainOf('a'))]).subarray(0, 40)],
    ['a text that is not UTF-8', Buffer.of(0x0a, 2, 0xc3, 0x28)],
    ['noise', Buffer.alloc(50, 0xff)],
  ])('is not %s', (_, bytes) => {
    expect(() => decodeResponse(bytes)).toThrow(expect.objectContaining({ name: 'MalformedMessage' }))
  })
})

describe('a RateLimitConfig', () => {
  it.each(['SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'])('has limits by the %s', (unit) => {
    expect(ofPolicy({ unit, requests_per_unit: 4_294_967_295 })).toEqual({
      unit: unit.toLowerCase(),
      requests_per_unit: 4_294_967_295,
    })
    expect(
      loadRules([
        { file: 'f', value: { domain: 'd', descriptors: [ofDescriptor({ key: 'k', rate_limit: { unit } })] } },
      ]).ruleCount,
    ).toBe(1)
  })

  it.each([
    ['a limit of 0', { unit: 'DAY' }, { unit: 'day', requests_per_unit: 0 }],
    ['no limit', { unlimited: true }, { unlimited: true }],
    ['a unit that is not known', { requests_per_unit: 5 }, { unit: 'unknown', requests_per_unit: 5 }],
    ['a unit of another version', { unit: 9, requests_per_unit: 5 }, { unit: '9', requests_per_unit: 5 }],
    [
      'no limit, and one',
      { unlimited: true, unit: 'DAY', requests_per_unit: 5 },
      { unlimited: true, unit: 'day', requests_per_unit: 5 },
    ],
    [
      'a name, and what it replaces',
      { unlimited: true, name: 'n', replaces: [{ name: 'a' }, { name: 'b' }] },
      { name: 'n', replaces: [{ name: 'a' }, { name: 'b' }], unlimited: true },
    ],
  ])('has a policy with %s', (_, policy, expected) => {
    expect(ofPolicy(policy)).toEqual(expected)
  })

  it.each([
    ['a key alone', { key: 'k' }, { key: 'k' }],
    ['a value', { key: 'k', value: 'v' }, { key: 'k', value: 'v' }],
    ['switches that are off', { key: 'k', shadow_mode: false, value: '' }, { key: 'k' }],
    [
      'switches that are on',
      { key: 'k', shadow_mode: true, detailed_metric: true, quota_mode: true },
      { key: 'k', shadow_mode: true, detailed_metric: true, quota_mode: true },
    ],
    [
      'descriptors below',
      { key: 'a', descriptors: [{ key: 'b', descriptors: [{ key: 'c' }] }, { key: 'd' }] },
      { key: 'a', descriptors: [{ key: 'b', descriptors: [{ key: 'c' }] }, { key: 'd' }] },
    ],
    [
      'metadata',
      {
        key: 'k',
        metadata: {
          fields: {
            text: { stringValue: 't' },
            number: { numberValue: 1.5 },
            yes: { boolValue: true },
            none: { nullValue: 0 },
            list: {
              listValue: { values: [{ numberValue: 1 }, { structValue: { fields: { a: { stringValue: '' } } } }] },
            },
          },
        },
      },
      { key: 'k', metadata: { text: 't', number: 1.5, yes: true, none: null, list: [1, { a: '' }] } },
    ],
  ])('has a descriptor with %s', (_, descriptor, expected) => {
    expect(ofDescriptor(descriptor)).toEqual(expected)
  })

  it('keeps a key of metadata that means something to JavaScript', () => {
    const fields = JSON.parse('{"__proto__":{"stringValue":"x"}}')
    const { metadata } = ofDescriptor({ key: 'k', metadata: { fields } }) as { metadata: object }
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype)
  })

  it('is called by its name, or else by its domain', () => {
    expect(decoded({ name: 'ns/gateway/listener', domain: 'd' }).name).toBe('ns/gateway/listener')
    expect(decoded({ domain: 'd' }).name).toBe('d')
  })

  it('has a bound on its depth, and on its parts', () => {
    const deep = (levels: number): object =>
      levels === 1 ? { key: 'k' } : { key: 'k', descriptors: [deep(levels - 1)] }
    expect(ofDescriptor(deep(64))).toMatchObject({ key: 'k' })
    expect(() => ofDescriptor(deep(65))).toThrow('more than 64 levels')
    const many = Array.from({ length: 1_001 }, () => ({ key: 'k' }))
    expect(() => decoded({ descriptors: many })).toThrow('too many descriptors and values')
  })
})

describe('XdsResources', () => {
  const inputsOf = async (resources: XdsResources, message: Buffer) => (await resources.answerOf(message))?.inputs

  it('are inputs in the order of their names', async () => {
    const inputs = await inputsOf(
      new XdsResources('xds'),
      responseOf([resourceOf(domainOf('b')), resourceOf(domainOf('a'))]),
    )
    expect(inputs).toMatchObject([{ file: 'xds, resource "a"' }, { file: 'xds, resource "b"' }])
  })

  it('that did not change are the same inputs', async () => {
    const resources = new XdsResources('xds')
    const [a, b] = (await inputsOf(
      resources,
      responseOf([resourceOf(domainOf('a')), resourceOf(domainOf('b'))]),
    )) as object[]
    const later = (await inputsOf(
      resources,
      responseOf([resourceOf(domainOf('b')), resourceOf(domainOf('a', 7))]),
    )) as object[]
    expect(later[1]).toBe(b)
    expect(later[0]).not.toBe(a)
  })

  it('of another type are no rules, and spoil the others', async () => {
    const foreign = { type_url: 'type.googleapis.com/a.B', value: Buffer.alloc(0) }
    const inputs = await inputsOf(new XdsResources('xds'), responseOf([resourceOf(domainOf('a')), foreign]))
    expect(inputs).toBeInstanceOf(RulesError)
    expect((inputs as RulesError).message).toBe(
      'XDS_RESOURCE_INVALID: xds, resource 2 of 2: it is not a RateLimitConfig. A control plane must send messages of the type ratelimit.config.ratelimit.v3.RateLimitConfig, at most 64 levels deep, with at most 500000 descriptors and values.',
    )
  })

  it('name resource and path of what is wrong', async () => {
    const wrong = {
      name: 'ns/gw/l',
      domain: 'd',
      descriptors: [{ key: 'a', descriptors: [{ key: 'b', rate_limit: {} }] }],
    }
    const inputs = (await inputsOf(new XdsResources('xds h:1'), responseOf([resourceOf(wrong)]))) as []
    expect(() => loadRules(inputs)).toThrow(
      /^RULE_INVALID: xds h:1, resource "ns\/gw\/l"\.descriptors\[0\]\.descriptors\[0\]\.rate_limit\.unit: unit: got "unknown"/,
    )
  })

  it('are none in a response about something else', async () => {
    expect(await new XdsResources('xds').answerOf(RESPONSE.encode({ type_url: 'other' }))).toBeUndefined()
    expect(await new XdsResources('xds').answerOf(Buffer.alloc(0))).toBeUndefined()
  })
})
