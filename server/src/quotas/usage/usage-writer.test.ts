import { SluiceError } from 'sluice/internal/core/errors'
import { describe, expect, it } from 'vitest'
import type { UsageBatch } from '../tables/usage-store.ts'
import type { UsageDelta, UsageNews } from './usage-news.ts'
import { UsageWriter } from './usage-writer.ts'

const HOUR = 3_600_000
const AWAY = new SluiceError('DATABASE_UNAVAILABLE', 'database', 'away')

const delta = (customerId: string, more: Partial<UsageDelta> = {}): UsageDelta => ({
  customerId,
  keyId: undefined,
  limit: 'api/customer',
  allowed: 1,
  refused: 0,
  cost: 1,
  ...more,
})
const news = (atMs: number, ...deltas: UsageDelta[]): UsageNews => ({
  atMs,
  untilMs: atMs,
  deltas,
  crossings: [],
})

function open(maxRows = 100) {
  const target = {
    batches: [] as UsageBatch[],
    fault: undefined as unknown,
    async add(batch: UsageBatch) {
      if (target.fault !== undefined) throw target.fault
      target.batches.push(batch)
      return true
    },
  }
  const reported: string[] = []
  const clock = { ms: 10 * HOUR, takenMs: 9 * HOUR }
  const events = {
    failed: () => reported.push('failed'),
    recovered: () => reported.push('recovered'),
    dropping: () => reported.push('dropping'),
  }
  const writer = new UsageWriter(target, { events, nowMs: () => clock.ms, takenUntilMs: () => clock.takenMs, maxRows })
  return { writer, target, reported, clock }
}

describe('a UsageWriter', () => {
  it('adds up what all processes report, by caller, limit and hour', async () => {
    const { writer, target } = open()
    writer.take(news(HOUR, delta('acme'), delta('acme', { keyId: 'k' }), delta('acme', { limit: 'api/other' })))
    writer.take(news(HOUR + 5, delta('acme', { refused: 2, cost: 7 })))
    writer.take(news(2 * HOUR, delta('acme')))
    await writer.write()
    expect(target.batches.map(({ counts }) => counts)).toEqual([
      [
        { ...delta('acme'), atMs: HOUR, allowed: 2, refused: 2, cost: 8 },
        { ...delta('acme', { keyId: 'k' }), atMs: HOUR },
        { ...delta('acme', { limit: 'api/other' }), atMs: HOUR },
        { ...delta('acme'), atMs: 2 * HOUR },
      ],
    ])
    await writer.write()
    expect(target.batches.length).toBe(1)
  })

  it('sends a batch that failed again as it was, and what came meanwhile after it', async () => {
    const { writer, target, reported, clock } = open()
    const sent: UsageBatch[] = []
    const { add } = target
    target.add = async (batch) => {
      sent.push(batch)
      return add(batch)
    }
    target.fault = AWAY
    writer.take(news(HOUR, delta('acme')))
    await writer.write()
    clock.ms += 5_000
    writer.take(news(HOUR, delta('acme')))
    await writer.write()
    expect(writer.figures).toEqual({ written: 0, dropped: 0, waiting: 2, ageMs: 5_000 })
    expect(sent.map(({ id }) => id)).toEqual(['1', '1'])
    target.fault = undefined
    await writer.write()
    await writer.write()
    expect(target.batches.map(({ id, counts }) => [id, counts[0].allowed])).toEqual([
      ['1', 1],
      ['2', 1],
    ])
    expect([reported, writer.figures]).toEqual([
      ['failed', 'recovered'],
      { written: 2, dropped: 0, waiting: 0, ageMs: 0 },
    ])
  })

  it('drops the oldest rows when too many wait, and says so once', async () => {
    const { writer, target, reported } = open(3)
    target.fault = AWAY
    await writer.write()
    for (let n = 0; n < 5; n++) writer.take(news(HOUR, delta(`c-${n}`, { refused: 1 })))
    expect([writer.figures.dropped, reported]).toEqual([4, ['dropping']])
    target.fault = undefined
    expect(await writer.finish()).toBe(0)
    expect(target.batches[0].counts.map(({ customerId }) => customerId)).toEqual(['c-2', 'c-3', 'c-4'])
  })

  it('gives up a batch that the database refuses again and again, and continues with the next', async () => {
    const { writer, target, reported } = open()
    target.fault = new SluiceError('DATABASE_FAILED', 'database', 'no')
    writer.take(news(HOUR, delta('acme')))
    for (let n = 0; n < 10; n++) await writer.write()
    expect([writer.figures.dropped, reported]).toEqual([1, ['failed', 'dropping']])
    target.fault = undefined
    writer.take(news(HOUR, delta('beta')))
    await writer.write()
    expect(target.batches.map(({ counts }) => counts[0].customerId)).toEqual(['beta'])
  })

  it('gives up a batch only after it was refused ten times, and never because the database is unavailable', async () => {
    const { writer, target } = open()
    const refused = new SluiceError('DATABASE_FAILED', 'database', 'no')
    const write = async (fault: unknown, times: number): Promise<void> => {
      target.fault = fault
      for (let n = 0; n < times; n++) await writer.write()
    }
    for (const name of ['acme', 'beta', 'gamma']) {
      writer.take(news(HOUR, delta(name)))
      await write(refused, 9)
      await write(AWAY, 20)
      await write(undefined, 1)
    }
    expect(writer.figures).toMatchObject({ written: 3, dropped: 0 })
    writer.take(news(HOUR, delta('delta')))
    await write(refused, 10)
    writer.take(news(HOUR, delta('epsilon')))
    await write(refused, 9)
    await write(undefined, 1)
    expect(writer.figures).toMatchObject({ written: 4, dropped: 1 })
  })

  it('writes what is much in batches of 5,000 rows', async () => {
    const { writer, target } = open(20_000)
    writer.take(news(HOUR, ...Array.from({ length: 10_001 }, (_, n) => delta(`c-${n}`))))
    await writer.write()
    expect(target.batches.map(({ id, counts }) => [id, counts.length])).toEqual([
      ['1', 5_000],
      ['2', 5_000],
      ['3', 1],
    ])
  })

  it('escapes what no database can keep', async () => {
    const { writer, target } = open()
    writer.take(news(HOUR, delta('acme', { limit: 'a\0b\ud800', cost: 2 ** 60 })))
    await writer.write()
    expect(target.batches[0].counts[0]).toMatchObject({ limit: 'a\uFFFDb\uFFFD', cost: Number.MAX_SAFE_INTEGER })
  })

  it('knows until when everything is written: what was taken when the batches were made', async () => {
    const { writer, target, clock } = open()
    expect(writer.untilMs).toBe(9 * HOUR)
    clock.takenMs = 9 * HOUR + 1
    await writer.write()
    expect(writer.untilMs).toBe(9 * HOUR + 1)
    target.fault = AWAY
    writer.take(news(HOUR, delta('acme')))
    clock.takenMs = 9 * HOUR + 2
    await writer.write()
    writer.take(news(HOUR, delta('beta')))
    clock.takenMs = 9 * HOUR + 3
    await writer.write()
    expect(writer.untilMs).toBe(9 * HOUR + 1)
    target.fault = undefined
    await writer.write()
    // beta's row came after the batch of acme.
    expect(writer.untilMs).toBe(9 * HOUR + 2)
    await writer.write()
    expect(writer.untilMs).toBe(9 * HOUR + 3)
  })

  it('says how many rows could not be written at the end', async () => {
    const { writer, target } = open()
    target.fault = AWAY
    writer.take(news(HOUR, delta('acme'), delta('beta')))
    expect(await writer.finish()).toBe(2)
  })
})
