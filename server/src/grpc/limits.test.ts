import { expect, it } from 'vitest'
import { DEFAULT_LIMITS, resolveLimits } from './limits.ts'

it('limits that are not given have their defaults', () => {
  expect(resolveLimits()).toEqual(DEFAULT_LIMITS)
  const limits = resolveLimits({ maxMessageBytes: 10, budgets: { pings: { burst: 1, perSecond: 0 } } })
  expect(limits).toMatchObject({ maxMessageBytes: 10, maxConnections: 20_000, idleTimeoutMs: 900_000 })
  expect(limits.budgets).toEqual({ ...DEFAULT_LIMITS.budgets, pings: { burst: 1, perSecond: 0 } })
})

it('times may be without end', () => {
  expect(resolveLimits({ idleTimeoutMs: Number.POSITIVE_INFINITY }).idleTimeoutMs).toBe(Number.POSITIVE_INFINITY)
})

it.each([
  [{ maxMessageBytes: 0 }, 'maxMessageBytes is 0; it must be a whole number from 1 to 1073741823'],
  [{ maxConnections: 1.5 }, 'maxConnections is 1.5; it must be a whole number from 1 to 9007199254740991'],
  [{ maxConnections: Number.POSITIVE_INFINITY }, 'maxConnections is Infinity; it must be a whole number from 1 to'],
  [{ idleTimeoutMs: -1 }, 'idleTimeoutMs is -1; it must be a whole number from 1 to 9007199254740991 or Infinity'],
  [
    { connectionWindowBytes: 2 ** 31 },
    'connectionWindowBytes is 2147483648; it must be a whole number from 1 to 2147483647',
  ],
  [{ maxBytes: 1 }, 'maxBytes is not a limit of a GrpcServer'],
])('%j is refused', (options, rule) => {
  expect(() => resolveLimits(options as object)).toThrow(rule)
})
