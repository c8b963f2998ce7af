import { describe, expect, it } from 'vitest'
import { ASK, startWhole, type WholeService } from './service.suite.ts'

async function scrape({ admin }: WholeService, accept?: string): Promise<string> {
  const response = await fetch(`${admin}/metrics`, { headers: { ...(accept && { accept }), connection: 'close' } })
  expect(response.status).toBe(200)
  return response.text()
}

/** The names and labels of all samples. */
function seriesIn(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')))
}

/** valueOf is the value of one series. */
function numberOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

const WEIRD = ['x', 'a"b', 'a\\b', 'a\nb', '{}', 'other', '__proto__', 'constructor', 'é', ' ', 'a'.repeat(200)]

describe('what strangers send, and the metrics', () => {
  it('makes no series: values, undefined domains, and request limits', async () => {
    const service = await startWhole(['--trust-callers'])
    await service.post('/v1/check', ASK)
    await service.post('/v1/check', { ...ASK, domain: 'x' })
    const limit = { requestsPerUnit: 5, unit: 'hour' }
    await service.post('/v1/check', { ...ASK, descriptors: [{ ...ASK.descriptors[0], limit }] })
    const before = seriesIn(await scrape(service))
    for (const [i, text] of WEIRD.entries()) {
      const entries = [{ key: 'user', value: text }]
      await service.post('/v1/check', { domain: text, descriptors: [{ entries }] })
      await service.call('envoy', { domain: text, descriptors: [{ entries }] })
      await service.post('/v1/check', { domain: 'd', descriptors: [{ entries: [{ key: text, value: text }] }] })
      await service.post('/v1/check', { domain: 'd', descriptors: [{ entries }] })
      const own = { requestsPerUnit: i + 1, unit: 'day' }
      await service.post('/v1/check', { domain: 'd', descriptors: [{ entries, limit: own }] })
    }
    const after = await scrape(service)
    const doors = /door="(rls|http)"|worker=/
    expect(seriesIn(after).filter((series) => !before.includes(series) && !doors.test(series))).toEqual([])
    expect(after).not.toContain('aaaa')
    // There was one of each before, and a line end is refused over HTTP.
    expect(numberOf(after, 'ratelimit_unmatched_total{reason="unknown_domain"}')).toBe(2 * WEIRD.length)
    const overrides = 'ratelimit_decisions_total{domain="other",rule="override",outcome="allowed",door="http"}'
    expect(numberOf(after, overrides)).toBe(WEIRD.length)
  })

  it('a rule file makes as many series as the operator says, and what is beyond is counted as other', async () => {
    const service = await startWhole(['--metrics-max-rules=1'])
    await service.post('/v1/check', ASK)
    await service.post('/v1/acquire', { domain: 'd', descriptors: [{ entries: [{ key: 'jobs', value: 'a' }] }] })
    const text = await scrape(service)
    expect(seriesIn(text).filter((series) => series.startsWith('ratelimit_hits_total'))).toEqual([
      'ratelimit_hits_total{domain="other",rule="other"}',
      'ratelimit_hits_total{domain="other",rule="override"}',
      'ratelimit_hits_total{domain="d",rule="user"}',
    ])
    expect(numberOf(text, 'ratelimit_hits_total{domain="other",rule="other"}')).toBe(1)
  })
})
