import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Budget, parseRateLimits } from './rate-limits.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const UNIX = NOW / 1_000

const parse = (fields: Record<string, string>) => parseRateLimits(new Headers(fields), NOW)

/** told is a budget with what is named, in requests. */
const received = (parts: Partial<Budget>): Budget => ({
  name: 'default',
  unit: 'requests',
  limit: undefined,
  remaining: undefined,
  resetMs: undefined,
  windowMs: undefined,
  partition: undefined,
  ...parts,
})

describe('parseRateLimits', () => {
  it.each<[api: string, fields: Record<string, string>, budgets: Budget[]]>([
    [
      'the current draft with one policy',
      { 'RateLimit-Policy': '"default";q=100;w=60', RateLimit: '"default";r=47;t=42' },
      [received({ limit: 100, remaining: 47, resetMs: 42_000, windowMs: 60_000 })],
    ],
    [
      'the current draft with several policies',
      {
        'RateLimit-Policy': '"burst";q=10;w=1, "daily";q=1000;w=86400;qu="content-bytes";pk=:YWJj:',
        RateLimit: '"burst";r=3;t=1, "daily";r=900;t=3600;pk=:YWJj:',
      },
      [
        received({ name: 'burst', limit: 10, remaining: 3, resetMs: 1_000, windowMs: 1_000 }),
        received({
          name: 'daily',
          unit: 'content-bytes',
          limit: 1_000,
          remaining: 900,
          resetMs: 3_600_000,
          windowMs: 86_400_000,
          partition: 'YWJj',
        }),
      ],
    ],
    [
      'Sluice, whose names hold every letter as escapes',
      {
        'RateLimit-Policy': '"%E5%88%B6%E9%99%90";q=10;w=1, "a%22b %25";q=9;w=9, "100%";q=8;w=8',
        RateLimit: '"%E5%88%B6%E9%99%90";r=3;t=1, "a%22b %25";r=2;t=1, "100%";r=1;t=1',
      },
      [
        received({ name: '制限', limit: 10, remaining: 3, resetMs: 1_000, windowMs: 1_000 }),
        received({ name: 'a"b %', limit: 9, remaining: 2, resetMs: 1_000, windowMs: 9_000 }),
        received({ name: '100%', limit: 8, remaining: 1, resetMs: 1_000, windowMs: 8_000 }),
      ],
    ],
    [
      'Cloudflare, whose names differ',
      { Ratelimit: '"default";r=50;t=30', 'Ratelimit-Policy': '"burst";q=100;w=60' },
      [received({ limit: 100, remaining: 50, resetMs: 30_000, windowMs: 60_000 })],
    ],
    [
      'draft 8 of express-rate-limit, with spaces',
      { 'RateLimit-Policy': '"100-in-1min"; q=100; w=60; pk=:ZTQ=:', RateLimit: '"100-in-1min"; r=99; t=60' },
      [
        received({
          name: '100-in-1min',
          limit: 100,
          remaining: 99,
          resetMs: 60_000,
          windowMs: 60_000,
          partition: 'ZTQ=',
        }),
      ],
    ],
    [
      'draft 7',
      { 'RateLimit-Policy': '100;w=60', RateLimit: 'limit=100, remaining=99, reset=60' },
      [received({ limit: 100, remaining: 99, resetMs: 60_000 })],
    ],
    [
      'draft 6',
      {
        'RateLimit-Policy': '100;w=60',
        'RateLimit-Limit': '100',
        'RateLimit-Remaining': '99',
        'RateLimit-Reset': '60',
      },
      [received({ limit: 100, remaining: 99, resetMs: 60_000, windowMs: 60_000 })],
    ],
    ['a policy alone', { 'RateLimit-Policy': '"default";q=100;w=60' }, [received({ limit: 100, windowMs: 60_000 })]],
    [
      'GitHub',
      {
        'X-RateLimit-Limit': '60',
        'X-RateLimit-Remaining': '56',
        'X-RateLimit-Reset': `${UNIX + 90}`,
        'X-RateLimit-Resource': 'core',
      },
      [received({ name: 'core', limit: 60, remaining: 56, resetMs: 90_000 })],
    ],
    [
      'GitLab',
      {
        'RateLimit-Limit': '600',
        'RateLimit-Remaining': '594',
        'RateLimit-Reset': `${UNIX + 30}`,
        'RateLimit-ResetTime': 'Thu, 01 Jan 2026 00:00:30 GMT',
      },
      [received({ limit: 600, remaining: 594, resetMs: 30_000 })],
    ],
    [
      'OpenAI',
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-limit-tokens': '150000',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-remaining-tokens': '149984',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-reset-tokens': '6m0s',
      },
      [
        received({ name: 'requests', limit: 60, remaining: 59, resetMs: 1_000 }),
        received({ name: 'tokens', unit: 'tokens', limit: 150_000, remaining: 149_984, resetMs: 360_000 }),
      ],
    ],
    [
      'OpenAI in milliseconds and decimals',
      {
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-remaining-tokens': '1',
        'x-ratelimit-reset-requests': '12ms',
        'x-ratelimit-reset-tokens': '2.572s',
      },
      [
        received({ name: 'requests', remaining: 59, resetMs: 12 }),
        received({ name: 'tokens', unit: 'tokens', remaining: 1, resetMs: 2_572 }),
      ],
    ],
    [
      'Azure OpenAI, which does not know',
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '10',
        'x-ratelimit-limit-tokens': '-1',
      },
      [received({ name: 'requests', limit: 60, remaining: 59, resetMs: 10_000 })],
    ],
    [
      'Anthropic',
      {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '49',
        'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:12Z',
        'anthropic-ratelimit-input-tokens-limit': '30000',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-01-01T00:01:00Z',
      },
      [
        received({ name: 'requests', limit: 50, remaining: 49, resetMs: 12_000 }),
        received({ name: 'input-tokens', unit: 'input-tokens', limit: 30_000, remaining: 0, resetMs: 60_000 }),
      ],
    ],
    ['Shopify', { 'X-Shopify-Shop-Api-Call-Limit': '32/40' }, [received({ limit: 40, remaining: 8 })]],
    [
      'X and Okta',
      { 'x-rate-limit-limit': '900', 'x-rate-limit-remaining': '847', 'x-rate-limit-reset': `${UNIX + 5}` },
      [received({ limit: 900, remaining: 847, resetMs: 5_000 })],
    ],
    [
      'Reddit',
      { 'x-ratelimit-remaining': '594.5', 'x-ratelimit-reset': '120' },
      [received({ remaining: 594.5, resetMs: 120_000 })],
    ],
    [
      'Discord',
      {
        'X-RateLimit-Limit': '5',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': `${UNIX + 64.57}`,
        'X-RateLimit-Reset-After': '64.57',
        'X-RateLimit-Bucket': 'abcd1234',
      },
      [received({ name: 'abcd1234', limit: 5, remaining: 0, resetMs: 64_570 })],
    ],
    [
      'Zendesk',
      { 'ratelimit-limit': '700', 'ratelimit-remaining': '699', 'ratelimit-reset': '41' },
      [received({ limit: 700, remaining: 699, resetMs: 41_000 })],
    ],
    [
      'Atlassian',
      { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '1', 'X-RateLimit-Reset': '2026-01-01T00:05Z' },
      [received({ limit: 100, remaining: 1, resetMs: 300_000 })],
    ],
    [
      'Mastodon',
      {
        'X-RateLimit-Limit': '300',
        'X-RateLimit-Remaining': '1',
        'X-RateLimit-Reset': '2026-01-01T00:05:00.000000Z',
      },
      [received({ limit: 300, remaining: 1, resetMs: 300_000 })],
    ],
    [
      'HubSpot',
      {
        'X-HubSpot-RateLimit-Max': '100',
        'X-HubSpot-RateLimit-Remaining': '98',
        'X-HubSpot-RateLimit-Interval-Milliseconds': '10000',
      },
      [received({ limit: 100, remaining: 98, windowMs: 10_000 })],
    ],
    [
      'Docker Hub',
      { 'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': '76;w=21600' },
      [received({ limit: 100, remaining: 76, windowMs: 21_600_000 })],
    ],
    [
      'Envoy',
      { 'x-ratelimit-limit': '1, 1;w=60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '5' },
      [received({ limit: 1, remaining: 0, resetMs: 5_000, windowMs: 60_000 })],
    ],
    [
      'Gravitee',
      { 'x-rate-limit-limit': '10', 'x-rate-limit-remaining': '9', 'x-rate-limit-reset': `${NOW + 6_800}` },
      [received({ limit: 10, remaining: 9, resetMs: 6_800 })],
    ],
    [
      'Tiendanube',
      { 'x-rate-limit-limit': '40', 'x-rate-limit-remaining': '39', 'x-rate-limit-reset': '1000' },
      [received({ limit: 40, remaining: 39, resetMs: 1_000 })],
    ],
    [
      'lemlist',
      {
        'X-RateLimit-Limit': '20',
        'X-RateLimit-Remaining': '19',
        'X-RateLimit-Reset': 'Thu Jan 01 2026 01:00:02 GMT+0100 (Central European Standard Time)',
      },
      [received({ limit: 20, remaining: 19, resetMs: 2_000 })],
    ],
    ['nothing', {}, []],
  ])('reads %s', (_, fields, budgets) => {
    expect(parse(fields).budgets).toEqual(budgets)
  })

  it.each<[fields: Record<string, string>, ms: number | undefined]>([
    [{ 'Retry-After': '12' }, 12_000],
    [{ 'Retry-After': '2.0' }, 2_000],
    [{ 'Retry-After': '0' }, 0],
    [{ 'Retry-After': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
    [{ 'Retry-After': 'Thu, 01 Jan 2025 00:00:30 GMT' }, 0],
    [{ 'Retry-After': '2000000000' }, 2 ** 31 - 1],
    [{ 'retry-after-ms': '150', 'Retry-After': '1' }, 150],
    [{ 'Retry-After': '-5' }, undefined],
    [{ 'Retry-After': 'soon' }, undefined],
    [{ 'Retry-After': '' }, undefined],
    [{ 'Retry-After': '1e3' }, undefined],
    [{ 'Retry-After': 'Infinity' }, undefined],
    [{}, undefined],
  ])('reads Retry-After of %j', (fields, ms) => {
    expect(parse(fields).retryAfterMs).toBe(ms)
  })

  it('reads dates by the clock of the server', () => {
    const { budgets, retryAfterMs } = parse({
      Date: 'Thu, 01 Jan 2026 01:00:00 GMT',
      'Retry-After': 'Thu, 01 Jan 2026 01:00:10 GMT',
      'X-RateLimit-Remaining': '1',
      'X-RateLimit-Reset': `${UNIX + 3_620}`,
    })
    expect(retryAfterMs).toBe(10_000)
    expect(budgets[0].resetMs).toBe(20_000)
  })

  it('says whether Stripe would have it tried again', () => {
    expect(parse({ 'Stripe-Should-Retry': 'false' }).shouldRetry).toBe(false)
    expect(parse({ 'Stripe-Should-Retry': 'true' }).shouldRetry).toBe(true)
    expect(parse({}).shouldRetry).toBeUndefined()
  })

  it.each([
    { RateLimit: '"default";r=47;t=42, "broken' },
    { RateLimit: 'r=;t=' },
    { RateLimit: '"a";r=-1' },
    { RateLimit: `"a";r=1${','.repeat(9_000)}` },
    { 'X-RateLimit-Remaining': 'many' },
    { 'X-RateLimit-Remaining': '-1' },
    { 'X-RateLimit-Limit': 'NaN', 'X-RateLimit-Remaining': '1e999' },
    { 'X-Shopify-Shop-Api-Call-Limit': '32' },
  ])('leaves out what cannot be read: %j', (fields) => {
    expect(parse(fields as Record<string, string>).budgets).toEqual([])
  })

  it('never says NaN, Infinity or less than 0', () => {
    const names = [
      'ratelimit',
      'ratelimit-policy',
      'ratelimit-limit',
      'ratelimit-remaining',
      'ratelimit-reset',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'x-ratelimit-reset-requests',
      'x-ratelimit-remaining-requests',
      'retry-after',
      'retry-after-ms',
      'date',
      'x-shopify-shop-api-call-limit',
    ]
    const piece = fc.constantFrom(
      '"a"',
      ';',
      'r=',
      't=',
      'q=',
      'w=',
      ',',
      '-',
      '1',
      '9999999999',
      '1e9',
      '.5',
      's',
      'ms',
      ' ',
      '/',
      '"',
      'x',
    )
    const text = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join('').trim())
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), text), (fields) => {
        const { budgets, retryAfterMs } = parse(fields)
        const numbers = budgets.flatMap(({ limit, remaining, resetMs, windowMs }) => [
          limit,
          remaining,
          resetMs,
          windowMs,
        ])
        for (const number of [...numbers, retryAfterMs]) {
          if (number !== undefined) expect(number >= 0 && number <= Number.MAX_SAFE_INTEGER).toBe(true)
        }
      }),
    )
  })
})
