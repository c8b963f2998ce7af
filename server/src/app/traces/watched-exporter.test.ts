import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import { describe, expect, it } from 'vitest'
import { logTo } from '../log/log.ts'
import { WatchedExporter } from './watched-exporter.ts'

/** Exports with results of its own. */
function watched(...results: Parameters<Parameters<SpanExporter['export']>[1]>[0][]) {
  const lines: string[] = []
  const log = logTo(({ event, message }) => lines.push(`${event} ${message}`))
  const inner: SpanExporter = { export: (_, done) => done(results.shift() ?? { code: 0 }), shutdown: async () => {} }
  return { exporter: new WatchedExporter(inner, log), lines }
}

describe('WatchedExporter', () => {
  it('logs once that spans cannot be sent, and once that they can again', () => {
    const gone = { code: 1, error: new Error('connect ECONNREFUSED 127.0.0.1:4318') }
    const { exporter, lines } = watched(gone, gone, { code: 0 }, { code: 0 }, gone)
    for (let i = 0; i < 5; i++) exporter.export([], () => {})
    const failed = 'traces.failed spans cannot be sent, and are dropped: connect ECONNREFUSED 127.0.0.1:4318'
    expect(lines).toEqual([failed, 'traces.recovered spans are sent again', failed])
  })

  it('logs the code of an error without a message, and the beginning of a long message', () => {
    const several = Object.assign(new Error(''), { code: 'ECONNREFUSED' })
    const { exporter, lines } = watched({ code: 1, error: several })
    exporter.export([], () => {})
    expect(lines).toEqual(['traces.failed spans cannot be sent, and are dropped: ECONNREFUSED'])
    const long = watched({ code: 1, error: new Error('x'.repeat(10_000)) })
    long.exporter.export([], () => {})
    expect(long.lines[0].length).toBeLessThan(300)
  })
})
