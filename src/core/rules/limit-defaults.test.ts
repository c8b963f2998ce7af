import { describe, expect, it } from 'vitest'
import { describeRules } from './describe.ts'
import { loadRules } from './load.ts'
import { RulesError } from './problems.ts'

const drawn = (text: string, options = {}): string[] =>
  describeRules(loadRules([{ file: 'd.yaml', text: `domain: d\n${text}` }], options)).slice(1)

function errorsOf(...texts: string[]): string[] {
  try {
    loadRules(
      texts.map((text, i) => ({ file: `${i}.yaml`, text: `domain: d\n${text}` })),
      { mergeDomains: true },
    )
  } catch (error) {
    if (error instanceof RulesError) return error.errors.map(({ message }) => message)
  }
  return []
}

const FIVE = 'unit: minute, requests_per_unit: 5'

describe('defaults of a domain', () => {
  it('are for limits that say nothing', () => {
    expect(
      drawn(`defaults: {algorithm: fixed_window, count_denied: true, on_store_failure: closed}
descriptors:
  - {key: a, rate_limit: {${FIVE}}}
  - {key: b, rate_limit: {${FIVE}, count_denied: false, on_store_failure: local}}
  - {key: c, rate_limit: {${FIVE}, algorithm: gcra}}`),
    ).toEqual([
      '  a',
      '    5 per 1m, fixed_window, refused ones count; closed when the store fails',
      '  b',
      '    5 per 1m, fixed_window',
      '  c',
      '    5 per 1m, gcra, refused ones count; closed when the store fails',
    ])
  })

  it('are for every limit of a list, of a tier and of levels below', () => {
    expect(
      drawn(`defaults: {algorithm: fixed_window, priority: 0}
tiers: {pro: {rate_limit: {${FIVE}}}}
descriptors:
  - {key: a, tiered: true, rate_limits: [{${FIVE}}, {${FIVE}, algorithm: gcra}], descriptors: [{key: b, rate_limit: {${FIVE}}}]}`),
    ).toEqual([
      '  a',
      '    5 per 1m, fixed_window; priority 0',
      '    5 per 1m, gcra; priority 0',
      '    tier pro',
      '      5 per 1m, fixed_window; priority 0',
      '    b',
      '      5 per 1m, fixed_window; priority 0',
    ])
  })

  it('may be the number and the window too', () => {
    expect(
      drawn(`defaults: {requests_per_unit: 9, unit: hour, burst: 20}
descriptors:
  - {key: a, rate_limit: {}}
  - {key: b, rate_limit: {window: 90s}}
  - {key: c, rate_limit: {algorithm: concurrency}}
  - {key: d, rate_limit: {algorithm: token_bucket}}`),
    ).toEqual([
      '  a',
      '    9 per 1h, sliding_window',
      '  b',
      '    9 per 90s, sliding_window',
      '  c',
      '    9 concurrent, leases of 1m',
      '  d',
      '    9 per 1h, token_bucket, burst 20',
    ])
  })

  it('leave out what a limit has no use for', () => {
    expect(
      drawn(`defaults: {count_denied: true, consistency: leased, sub_windows: 4, open_for: 5s, sync_interval: 1s}
descriptors:
  - {key: a, rate_limit: {requests_per_unit: 2, algorithm: concurrency}}
  - {key: b, rate_limit: {unlimited: true}}
  - {key: c, rate_limit: {${FIVE}, count_denied: false}}
  - {key: d, rate_limit: {${FIVE}, on_store_failure: open}}`),
    ).toEqual([
      '  a',
      '    2 concurrent, leases of 1m',
      '  b',
      '    unlimited; leased',
      '  c',
      '    5 per 1m, sliding_window, sub-windows of 15s; leased',
      '  d',
      '    5 per 1m, sliding_window, sub-windows of 15s, refused ones count; open when the store fails; for 5s, then local',
    ])
  })

  it('take precedence over the service’s', () => {
    const service = { defaults: { algorithm: 'fixed_window', count_denied: true } }
    expect(drawn(`descriptors: [{key: a, rate_limit: {${FIVE}}}]`, service)).toEqual([
      '  a',
      '    5 per 1m, fixed_window, refused ones count',
    ])
    expect(drawn(`defaults: {count_denied: false}\ndescriptors: [{key: a, rate_limit: {${FIVE}}}]`, service)).toEqual([
      '  a',
      '    5 per 1m, fixed_window',
    ])
  })

  it('are reported as wrong once, at their place', () => {
    expect(
      errorsOf(
        `defaults: {window: soon}\ndescriptors: [{key: a, rate_limit: {requests_per_unit: 1}}, {key: b, rate_limit: {requests_per_unit: 1}}]`,
      ),
    ).toEqual([expect.stringMatching(/^DURATION_INVALID: 0\.yaml:2:20: window: /)])
    expect(
      errorsOf(`defaults: {unit: day, window: 5s}\ndescriptors: [{key: a, rate_limit: {requests_per_unit: 1}}]`),
    ).toEqual([expect.stringMatching(/^RULE_COMBINATION: 0\.yaml:2:23: window and unit cannot be combined/)])
  })

  it('hold nothing that is about one limit alone', () => {
    expect(errorsOf('defaults: {name: x, replaces: [], unlimited: true}')).toEqual(
      ['name', 'replaces', 'unlimited'].map(
        (key) => expect.stringContaining(`RULE_UNKNOWN_KEY`) && expect.stringContaining(`"${key}"`),
      ),
    )
  })

  it('come from all files of the domain, which must not contradict each other', () => {
    const one = `defaults: {priority: 0}\ndescriptors: [{key: a, rate_limit: {${FIVE}}}]`
    expect(errorsOf(one, `defaults: {priority: 0, algorithm: gcra}`)).toEqual([])
    expect(errorsOf(one, `defaults: {priority: 1}`)).toEqual([
      expect.stringMatching(/^RULE_COMBINATION: 1\.yaml:2:12: priority differs from 0\.yaml:2:22/),
    ])
  })
})
