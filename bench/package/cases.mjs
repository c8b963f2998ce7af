/**
 * What is bundled. `budget` is how many bytes it is to have after gzip, `most` how many it may have now:
 * tests/packages/sizes.test.ts holds the packages to the latter, so that they do not grow unnoticed, and
 * `npm run bench -- package` measures the same with one more bundler, next to peers.
 */
export const CASES = [
  { name: 'sluice: rateLimit in memory', code: "export { rateLimit } from 'sluice'", budget: 12_000, most: 17_000 },
  { name: 'sluice: everything', code: "export * from 'sluice'" },
  {
    name: 'sluice/express in memory',
    code: "export { rateLimit } from 'sluice/express'",
    budget: 25_000,
    most: 32_500,
  },
  { name: 'sluice/fetch in memory', code: "export { rateLimit } from 'sluice/fetch'", budget: 25_000, most: 32_500 },
  { name: 'sluice/hono in memory', code: "export { rateLimit } from 'sluice/hono'", budget: 25_000, most: 32_500 },
  {
    name: 'sluice/express and sluice/redis',
    code: "export { rateLimit } from 'sluice/express'; export { redis } from 'sluice/redis'",
  },
  {
    name: 'sluice-client: createFetch and parseRateLimits',
    code: "export { createFetch, parseRateLimits } from 'sluice-client'",
    budget: 5_000,
    most: 5_850,
  },
]

export const PEERS = [
  {
    name: 'rate-limiter-flexible: RateLimiterMemory',
    code: "export { RateLimiterMemory } from 'rate-limiter-flexible'",
  },
  { name: '@upstash/ratelimit: Ratelimit', code: "export { Ratelimit } from '@upstash/ratelimit'" },
  { name: 'express-rate-limit: rateLimit', code: "export { rateLimit } from 'express-rate-limit'" },
  { name: 'hono-rate-limiter: rateLimiter', code: "export { rateLimiter } from 'hono-rate-limiter'" },
]

/** What the library may take on disk. */
export const INSTALLED_BUDGET = 1_500_000
