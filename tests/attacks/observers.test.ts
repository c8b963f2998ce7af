import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../servers/until.mjs'
import { ASK, startWhole } from './service.suite.ts'

/** Starts a service with a decision log, and reads that. */
async function logged(...args: string[]) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-observers-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'decisions.log')
  const service = await startWhole([`--decision-log=${path}`, ...args])
  const text = (): string => readFileSync(path, 'utf8')
  const records = () =>
    text()
      .trimEnd()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as {
            readonly time: string
            readonly door?: string
            readonly dropped?: number
            readonly trace_id?: string
          },
      )
  return { ...service, text, records }
}

describe('a caller that fills the decision log', () => {
  it('gets so many refusals into it in a second, and the others are counted', async () => {
    const { call, records } = await logged('--decision-log-refusals=5')
    const requests = Array.from({ length: 256 }, () => ASK)
    for (let i = 0; i < 20; i++) await call('check', { requests })
    const refused = 20 * 256 - 3
    // One refusal at a time, until a second begins in which there is room for it, and all that were dropped are told.
    const told = await until('the number of dropped lines is logged', async () => {
      await call('check', { requests: [ASK] })
      const dropped = records().reduce((sum, record) => sum + (record.dropped ?? 0), 0)
      return dropped > refused - 100 && dropped
    })
    expect(told).toBeGreaterThan(refused - 100)
    const bySecond = new Map<string, number>()
    const refusals = records().filter(({ door }) => door !== undefined)
    for (const { time } of refusals) bySecond.set(time.slice(0, 19), (bySecond.get(time.slice(0, 19)) ?? 0) + 1)
    expect(Math.max(...bySecond.values())).toBeLessThanOrEqual(5)
    // And in a second at the most one line that only says how many were dropped.
    expect(records().length - refusals.length).toBeLessThanOrEqual(bySecond.size + 1)
  })

  it('gets lines of a bounded length, and no fields into them that are malformed', async () => {
    const { call, post, text, records } = await logged('--decision-log-share=1')
    const value = '\u2028'.repeat(10_000)
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const headers = { traceparent: `${traceparent}${'-x'.repeat(3_000)}`, tracestate: 'a=b,'.repeat(1_500) }
    const body = { domain: 'd', descriptors: [{ entries: [{ key: 'user', value }] }] }
    expect(await call('check', { requests: [body] }, headers)).toMatchObject({ answers: [{}] })
    expect((await post('/v1/check', body, headers)).status).toBe(200)
    await post(
      '/v1/check',
      { domain: value, descriptors: body.descriptors },
      { traceparent, tracestate: headers.tracestate },
    )
    await until('all are logged', () => records().length === 3)
    expect(records().map(({ trace_id }) => trace_id)).toEqual([undefined, undefined, 'a'.repeat(32)])
    expect(
      Math.max(
        ...text()
          .split('\n')
          .map(({ length }) => length),
      ),
    ).toBeLessThan(2_000)
  })
})
