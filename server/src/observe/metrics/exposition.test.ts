import { describe, expect, it } from 'vitest'
import { formatMetrics, formatOf } from './exposition.ts'
import { FAMILIES } from './families.ts'
import { Histograms } from './histograms.ts'
import { labelsOf } from './labels.ts'
import { type MergedMetrics, mergeInto } from './merge-reports.ts'
import { ReportBuilder } from './metrics-report.ts'

function merged(fill: (into: ReportBuilder) => void): MergedMetrics {
  const [into, metrics] = [new ReportBuilder(), new Map()]
  fill(into)
  mergeInto(metrics, into.build(), '1')
  return metrics
}

/** The text about one metric. */
function textOf(metrics: MergedMetrics, name: string, format: 'prometheus' | 'openmetrics' = 'prometheus'): string {
  const lines = [...formatMetrics(metrics, format)].join('').split('\n')
  return lines.filter((line) => line.replace(/^# (HELP|TYPE) /, '').startsWith(name)).join('\n')
}

describe('format', () => {
  const counted = merged((into) => into.add('ratelimit_hits_total', labelsOf({ domain: 'd', rule: 'user' }), 3))

  it('formats a counter as Prometheus reads it', () => {
    expect(textOf(counted, 'ratelimit_hits')).toBe(
      [
        '# HELP ratelimit_hits_total Cost charged to a rule.',
        '# TYPE ratelimit_hits_total counter',
        'ratelimit_hits_total{domain="d",rule="user"} 3',
      ].join('\n'),
    )
  })

  it('names the family of a counter without its suffix in OpenMetrics', () => {
    expect(textOf(counted, 'ratelimit_hits', 'openmetrics')).toBe(
      [
        '# HELP ratelimit_hits Cost charged to a rule.',
        '# TYPE ratelimit_hits counter',
        'ratelimit_hits_total{domain="d",rule="user"} 3',
      ].join('\n'),
    )
  })

  it('escapes quotes, backslashes and line ends in labels', () => {
    expect(labelsOf({ domain: 'a"b\\c\nd', rule: 'é' })).toBe('domain="a\\"b\\\\c\\nd",rule="é"')
  })

  it('adds the buckets of a histogram up', () => {
    const batches = new Histograms('ratelimit_redis_batch_decisions')
    for (const size of [1, 2, 3, 200]) batches.observe(0, size)
    const metrics = merged((into) => into.addRow('ratelimit_redis_batch_decisions', '', batches.table))
    const [, , ...lines] = textOf(metrics, 'ratelimit_redis_batch').split('\n')
    expect(lines).toEqual([
      'ratelimit_redis_batch_decisions_bucket{le="1"} 1',
      'ratelimit_redis_batch_decisions_bucket{le="2"} 2',
      'ratelimit_redis_batch_decisions_bucket{le="4"} 3',
      'ratelimit_redis_batch_decisions_bucket{le="8"} 3',
      'ratelimit_redis_batch_decisions_bucket{le="16"} 3',
      'ratelimit_redis_batch_decisions_bucket{le="32"} 3',
      'ratelimit_redis_batch_decisions_bucket{le="64"} 3',
      'ratelimit_redis_batch_decisions_bucket{le="128"} 3',
      'ratelimit_redis_batch_decisions_bucket{le="+Inf"} 4',
      'ratelimit_redis_batch_decisions_sum 206',
      'ratelimit_redis_batch_decisions_count 4',
    ])
    expect(textOf(metrics, 'ratelimit_redis_batch', 'openmetrics')).toContain('{le="1.0"} 1\n')
  })

  it('formats bounds of microseconds without an exponent', () => {
    const times = new Histograms('ratelimit_check_duration_seconds')
    times.observe(0, 0.00003)
    const metrics = merged((into) => {
      into.addRow('ratelimit_check_duration_seconds', labelsOf({ door: 'rls' }), times.table)
    })
    const lines = textOf(metrics, 'ratelimit_check').split('\n')
    expect(lines.slice(2, 5)).toEqual([
      'ratelimit_check_duration_seconds_bucket{door="rls",le="0.000025"} 0',
      'ratelimit_check_duration_seconds_bucket{door="rls",le="0.00005"} 1',
      'ratelimit_check_duration_seconds_bucket{door="rls",le="0.0001"} 1',
    ])
  })

  it('has a sum and a count of a summary', () => {
    const metrics = merged((into) => into.addRow('ratelimit_gc_duration_seconds', '', Float64Array.of(0.5, 4)))
    expect(textOf(metrics, 'ratelimit_gc').split('\n').slice(1)).toEqual([
      '# TYPE ratelimit_gc_duration_seconds summary',
      'ratelimit_gc_duration_seconds_sum{worker="1"} 0.5',
      'ratelimit_gc_duration_seconds_count{worker="1"} 4',
    ])
  })

  it('names every family, those without a series too, and ends OpenMetrics with its last line', () => {
    const text = [...formatMetrics(new Map(), 'prometheus')].join('')
    expect([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)).toEqual(FAMILIES.map(({ name }) => name))
    expect(text.endsWith('\n')).toBe(true)
    expect([...formatMetrics(new Map(), 'openmetrics')].join('').endsWith('\n# EOF\n')).toBe(true)
  })

  it('comes in pieces, so that nothing waits for all of it', () => {
    const metrics = merged((into) => {
      for (let i = 0; i < 5_000; i++) into.add('ratelimit_hits_total', labelsOf({ domain: 'd', rule: `r${i}` }), i)
    })
    const pieces = [...formatMetrics(metrics, 'prometheus')]
    expect(pieces.length).toBe(6)
    expect(Math.max(...pieces.map((piece) => piece.split('\n').length))).toBeLessThanOrEqual(1_002)
    expect(
      pieces
        .join('')
        .split('\n')
        .filter((line) => line.startsWith('ratelimit_hits_total{')),
    ).toHaveLength(5_000)
  })
})

describe('formatOf', () => {
  it.each([
    [undefined, 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/html', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text; version=1.0.0; q=0.5, text/plain;version=0.0.4;q=0.4', 'openmetrics'],
    ['application/openmetrics-text;q=0.3,text/plain;q=0.8', 'prometheus'],
    ['application/openmetrics-text;q=0', 'prometheus'],
    ['application/openmetrics-text;q=nonsense', 'prometheus'],
    ['APPLICATION/OPENMETRICS-TEXT,*/*;q=0.1', 'openmetrics'],
  ])('answers %s with %s', (accept, format) => {
    expect(formatOf(accept)).toBe(format)
  })
})
