import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { changeLimit, findLimits, type LimitFields } from './limit-text.ts'

const TEXT = `# What the shop may be asked.
domain: shop
tiers:
  pro:
    rate_limit: { unit: minute, requests_per_unit: 500 }
descriptors:
  - key: user # each of them
    tiered: true
    rate_limit:
      unit: minute # a short one
      requests_per_unit: 100
    descriptors:
      - key: endpoint
        value: POST /orders
        rate_limits:
          - { name: orders, unit: minute, requests_per_unit: 2 }
          - unit: day
            requests_per_unit: 50
  - key: ip
    cidr: [10.0.0.0/8, "fd00::/8"]
    rate_limit: { algorithm: token_bucket, window: 90s, requests_per_unit: 10, burst: 50 }
`

const place = (id: string, tier: string | null = null, text = TEXT) => {
  const found = findLimits(text).find((each) => each.id === id && each.tier === tier)
  if (found === undefined) throw new Error(`there is no ${id}`)
  return found
}
/** changed is the lines that differ. */
function changed(id: string, to: Partial<LimitFields>, tier: string | null = null): [string[], string[]] {
  const found = place(id, tier)
  const after = changeLimit(TEXT, found, { ...found.says, ...to })
  expect(parse(after)).toBeTypeOf('object')
  const [was, will] = [TEXT.split('\n'), after.split('\n')]
  return [was.filter((line) => !will.includes(line)), will.filter((line) => !was.includes(line))]
}

test('limits have the ids that the service gives them', () => {
  const ids = findLimits(TEXT).map(({ id, tier }) => (tier === null ? id : `${id} of ${tier}`))
  expect(ids).toEqual([
    'user',
    'user/endpoint=POST /orders',
    'user/endpoint=POST /orders#2',
    'ip=10.0.0.0/8,fd00::/8',
    'user of pro',
  ])
})

test('a limit is known with its line and what it says', () => {
  const found = place('ip=10.0.0.0/8,fd00::/8')
  expect([found.domain, found.line, found.isBucket]).toEqual(['shop', 21, true])
  expect(found.says).toEqual({ requests: '10', unit: undefined, window: '90s', burst: '50', shadow: false })
})

test('another number changes one line', () => {
  expect(changed('user', { requests: '250' })).toEqual([
    ['      requests_per_unit: 100'],
    ['      requests_per_unit: 250'],
  ])
  expect(changed('user/endpoint=POST /orders', { requests: '3' })[1]).toEqual([
    '          - { name: orders, unit: minute, requests_per_unit: 3 }',
  ])
})

test('the limit of a tier is its own', () => {
  expect(changed('user', { requests: '900' }, 'pro')[1]).toEqual([
    '    rate_limit: { unit: minute, requests_per_unit: 900 }',
  ])
})

test('a unit becomes a window and back, and comments stay', () => {
  expect(changed('user', { unit: undefined, window: '90s' })[1]).toEqual(['      window: 90s # a short one'])
  expect(changed('ip=10.0.0.0/8,fd00::/8', { unit: 'hour', window: undefined })[1]).toEqual([
    '    rate_limit: { algorithm: token_bucket, unit: hour, requests_per_unit: 10, burst: 50 }',
  ])
})

test('a burst is taken away, and added', () => {
  expect(changed('ip=10.0.0.0/8,fd00::/8', { burst: undefined })[1]).toEqual([
    '    rate_limit: { algorithm: token_bucket, window: 90s, requests_per_unit: 10 }',
  ])
  const text = TEXT.replace(', burst: 50', '')
  const found = place('ip=10.0.0.0/8,fd00::/8', null, text)
  expect(changeLimit(text, found, { ...found.says, burst: '50' })).toBe(TEXT)
})

test('shadow mode stands next to the key, and is switched where it stands', () => {
  const found = place('user')
  const on = changeLimit(TEXT, found, { ...found.says, shadow: true })
  expect(on).toContain('  - key: user # each of them\n    shadow_mode: true\n    tiered: true')
  const again = place('user', null, on)
  expect(again.says.shadow).toBe(true)
  expect(changeLimit(on, again, { ...again.says, shadow: false })).toBe(on.replace('mode: true', 'mode: false'))
})

test('several fields in one edit', () => {
  expect(
    changed('user/endpoint=POST /orders#2', { requests: '5', unit: undefined, window: '2h', shadow: true })[1],
  ).toEqual(['        shadow_mode: true', '          - window: 2h', '            requests_per_unit: 5'])
})

test('a text that is no YAML has no limits', () => {
  expect(findLimits('a: [')).toEqual([])
  expect(findLimits('')).toEqual([])
  expect(findLimits('- a')).toEqual([])
})

test('patterns that are switched off in the text are not there', () => {
  expect(
    findLimits(TEXT.replace('    tiered: true', '    tiered: true\n    enabled: false')).map(({ id }) => id),
  ).toEqual(['ip=10.0.0.0/8,fd00::/8'])
})
