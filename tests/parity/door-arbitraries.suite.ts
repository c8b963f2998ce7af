import fc from 'fast-check'
import type { DescriptorRule, RuleFile } from '../../src/core/rules/schema.ts'
import type { Ask } from './doors.suite.ts'

const VALUES: Readonly<Record<string, readonly string[]>> = {
  ip: ['203.0.113.7', '203.0.113.8'],
  api_key: ['k1', 'k2'],
  user: ['u1'],
  tenant: ['t1'],
  method: ['GET'],
  path: ['/login', '/users/7', '/users/8'],
}

/** Handlers of all apps are at these. */
const PATHS = ['/login', '/users/7', '/users/8']

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

/** asks are requests of few callers, so that limits are met. */
export const asks: fc.Arbitrary<Ask> = fc.record({
  ip: fc.constantFrom('203.0.113.7', '203.0.113.7', '203.0.113.8'),
  apiKey: maybe(fc.constantFrom('k1', 'k2')),
  user: maybe(fc.constantFrom('u1', 'u2')),
  tenant: maybe(fc.constant('t1')),
  tier: maybe(fc.constant('pro')),
  method: fc.constantFrom('GET', 'GET', 'HEAD'),
  path: fc.constantFrom(...PATHS),
  afterMs: fc.constantFrom(0, 0, 1, 250, 30_000),
})

interface Shape {
  readonly key: string
  readonly value: string | undefined
  readonly count: number | undefined
  readonly unit: 'second' | 'minute' | 'hour'
  readonly algorithm: 'sliding_window' | 'fixed_window' | 'gcra' | 'token_bucket' | 'sliding_log'
  readonly below: readonly Shape[]
}

/** shapes are patterns of some keys, with what may stand below each. */
function shapes(keys: readonly string[], below: (key: string) => fc.Arbitrary<readonly Shape[]>) {
  const one = fc.constantFrom(...keys).chain((key) =>
    fc.record({
      key: fc.constant(key),
      value: maybe(fc.constantFrom(...(VALUES[key] as readonly string[]))),
      count: maybe(fc.integer({ min: 1, max: 3 })),
      unit: fc.constantFrom('second', 'minute', 'hour'),
      algorithm: fc.constantFrom('sliding_window', 'fixed_window', 'gcra', 'token_bucket', 'sliding_log'),
      below: below(key),
    }),
  )
  return fc.uniqueArray(one, { maxLength: 3, selector: ({ key, value }) => `${key}=${value}` })
}

const none = fc.constant<readonly Shape[]>([])

/** What a request is about is in this order: a caller, then its method and its path; where rules on the way apply, both ways. */
function levels(isPath: boolean): fc.Arbitrary<readonly Shape[]> {
  const underMethod = shapes(['path'], () => none)
  const underPath = isPath ? shapes(['method'], () => none) : none
  const underCaller = shapes(['method', 'path'], (key) => (key === 'method' ? underMethod : underPath))
  return shapes(Object.keys(VALUES), (key) =>
    key === 'method' ? underMethod : key === 'path' ? underPath : underCaller,
  ) as fc.Arbitrary<readonly Shape[]>
}

function ruleOf({ key, value, count, unit, algorithm, below }: Shape, above: string): DescriptorRule {
  const name = `${above}/${key}${value === undefined ? '' : `=${value}`}`
  return {
    key,
    ...(value !== undefined && { value }),
    ...(count !== undefined && { rate_limit: { name, unit, requests_per_unit: count, algorithm } }),
    ...(below.length > 0 && { descriptors: below.map((each) => ruleOf(each, name)) }),
  }
}

/** ruleFiles are rules about what every door knows of a request. */
export const ruleFiles: fc.Arbitrary<RuleFile> = fc.boolean().chain((isPath) =>
  levels(isPath).map((found) => ({
    domain: 'shop',
    evaluate: isPath ? 'path' : 'leaf',
    descriptors: found.map((shape) => ruleOf(shape, '')),
  })),
)

/**
 * Says what a request is charged to, from the rules alone: each one on the way of something that the request has, once.
 * It knows nothing of descriptors.
 */
export function expectedCounters(rules: RuleFile, ask: Ask): readonly string[] {
  const has: Readonly<Record<string, string | undefined>> = {
    ip: ask.ip,
    api_key: ask.apiKey,
    user: ask.user,
    tenant: ask.tenant,
    method: 'GET',
    path: ask.path,
  }
  const found: string[] = []
  const walk = (list: readonly DescriptorRule[], above: string): void => {
    for (const key of new Set(list.map((each) => each.key))) {
      const value = has[key]
      const of = list.filter((each) => each.key === key)
      const rule = of.find((each) => each.value === value) ?? of.find((each) => each.value === undefined)
      if (value === undefined || rule === undefined) continue
      const here = `${above}${key}=${value}`
      if (rule.rate_limit != null) found.push(`1 of ${rule.rate_limit.name} for ${here}`)
      walk(rule.descriptors ?? [], `${here}/`)
    }
  }
  walk(rules.descriptors ?? [], '')
  return found.sort()
}
