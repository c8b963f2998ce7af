import { describe, expect, it } from 'vitest'
import { bucketsOf, quantile, readMetrics } from './prometheus-text.ts'

const TEXT = `# HELP ratelimit_requests_total whole decisions
# TYPE ratelimit_requests_total counter
ratelimit_requests_total{outcome="allowed",door="rls"} 90
ratelimit_requests_total{outcome="denied",door="http"} 1.0e1 1700000000
ratelimit_workers{state="ready"} 2
ratelimit_check_duration_seconds_bucket{door="rls",le="0.001"} 50
ratelimit_check_duration_seconds_bucket{door="rls",le="0.002"} 100 # {trace_id="a"} 0.0015
ratelimit_check_duration_seconds_bucket{door="rls",le="+Inf"} 100
ratelimit_check_duration_seconds_bucket{door="http",le="0.001"} 0
ratelimit_check_duration_seconds_bucket{door="http",le="0.002"} 0
ratelimit_check_duration_seconds_bucket{door="http",le="+Inf"} 0
odd{a="quoted \\" and \\\\ and \\n, b=\\"",c="}"} NaN
odd{a="quoted \\" and \\\\ and \\n",c="}"} +Inf
plain 3
this is no metric
# EOF
`
const names = new Set(['ratelimit_requests_total', 'ratelimit_check_duration_seconds_bucket', 'odd', 'plain', 'absent'])

describe('readMetrics', () => {
  it('reads the metrics that it is asked for, and no others', () => {
    const metrics = readMetrics(TEXT, names)
    expect([...metrics.keys()]).toEqual([
      'ratelimit_requests_total',
      'ratelimit_check_duration_seconds_bucket',
      'odd',
      'plain',
    ])
    expect(metrics.get('ratelimit_requests_total')?.map(({ labels, value }) => [labels.get('outcome'), value])).toEqual(
      [
        ['allowed', 90],
        ['denied', 10],
      ],
    )
    expect(metrics.get('plain')).toEqual([{ labels: new Map(), value: 3 }])
  })

  it('reads labels with signs of the form itself, and leaves out what is no number', () => {
    const [odd, ...others] = readMetrics(TEXT, names).get('odd') ?? []
    expect(others).toEqual([])
    expect(odd.value).toBe(Number.POSITIVE_INFINITY)
    expect([...odd.labels]).toEqual([
      ['a', 'quoted " and \\ and \n'],
      ['c', '}'],
    ])
  })
})

describe('quantile', () => {
  const buckets = bucketsOf(readMetrics(TEXT, names).get('ratelimit_check_duration_seconds_bucket'))

  it.each([
    [0.5, 0.001],
    [0.25, 0.0005],
    [0.99, 0.00198],
  ])('of %d is %d', (share, value) => {
    expect(quantile(share, buckets)).toBeCloseTo(value, 9)
  })

  it('is the last bound for what lies beyond it, and unknown without values', () => {
    expect(
      quantile(
        0.99,
        new Map([
          [1, 0],
          [Number.POSITIVE_INFINITY, 5],
        ]),
      ),
    ).toBe(1)
    expect(quantile(0.5, new Map())).toBeUndefined()
    expect(quantile(0.5, bucketsOf())).toBeUndefined()
  })
})
