import { describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../../../core/limit.ts'
import type { Charge } from '../../../engine/ports.ts'
import { LimitTexts } from './limit-texts.ts'
import { decodeVerdicts, encodeGroups, type Group } from './wire-format.ts'

const TEN = compileLimit({ limit: 10, window: '1m' })
const PLACES = compileLimit({ algorithm: 'concurrency', limit: 4 })
const LEASE = Buffer.from('0102030405060708', 'hex')

const charge = (change: Partial<Charge> = {}): Charge => ({ key: 'k', limit: TEN, cost: 1, enforce: true, ...change })
const group = (...charges: Charge[]): Group => ({ charges, permits: undefined })

function packed(...groups: Group[]): Buffer {
  return encodeGroups(groups, new LimitTexts()).args.at(-1) as Buffer
}

describe('a batch', () => {
  it('names every key and every limit once', () => {
    const groups = [group(charge(), charge({ limit: PLACES })), group(charge(), charge({ key: 'other' }))]
    const { keys, args } = encodeGroups(groups, new LimitTexts())
    expect(keys).toEqual(['k|s1m', 'k|c1m', 'other|s1m'])
    expect(args.slice(0, -1)).toEqual(['', '2', 's 10 60000 10 0 1 1 0', 'c 4 60000 4 0 1 1 0'])
    const bytes = args.at(-1) as Buffer
    const at = (position: number) => [bytes.readUInt16LE(position), bytes.readUInt16LE(position + 2)]
    expect([bytes.readUInt16LE(0), at(2), at(23)]).toEqual([2, [1, 1], [2, 2]])
    expect([bytes.readUInt16LE(44), at(46), at(67)]).toEqual([2, [1, 1], [3, 1]])
    expect(bytes).toHaveLength(2 * (2 + 2 * 21))
  })

  it('names a key once under two limits of one shape, as after a limit was raised', () => {
    const { keys, args } = encodeGroups(
      [group(charge()), group(charge({ limit: compileLimit({ limit: 20, window: '1m' }) }))],
      new LimitTexts(),
    )
    expect([keys.length, args[1]]).toEqual([1, '2'])
  })

  it('encodes a time only when there is one', () => {
    expect(encodeGroups([group(charge())], new LimitTexts()).args[0]).toBe('')
    expect(encodeGroups([group(charge())], new LimitTexts(), 1_780_000_000_000).args[0]).toBe('1780000000000')
  })

  it.each([0, 1, -7, 4_294_967_295, -4_294_967_295])('keeps a cost of %d', (cost) => {
    expect(packed(group(charge({ cost }))).readDoubleLE(6)).toBe(cost)
  })

  it.each<[what: string, change: Partial<Charge>, permits: Buffer | undefined, flags: number]>([
    ['an enforcing charge', {}, undefined, 1 + 4],
    ['a shadow charge', { enforce: false }, undefined, 4],
    ['a charge in quota mode', { quota: true }, undefined, 1 + 2 + 4],
    ['a look', { cost: 0 }, undefined, 1],
    ['a refund', { cost: -1 }, undefined, 1 + 4],
    ['a charge of an acquire', {}, LEASE, 1 + 4],
    ['a check of places', { limit: PLACES }, undefined, 1],
    ['an acquire of places', { limit: PLACES }, LEASE, 1 + 4 + 8],
    ['a look at places', { limit: PLACES, cost: 0 }, LEASE, 1 + 8],
    ['a refund of places, which is none', { limit: PLACES, cost: -1 }, LEASE, 1 + 8],
  ])('marks %s', (_, change, permits, flags) => {
    const bytes = packed({ charges: [charge(change)], permits })
    expect(bytes.readUInt8(14)).toBe(flags)
    expect(bytes.subarray(15, 23)).toEqual(permits ?? Buffer.alloc(8))
  })

  it('holds groups of more than 255 charges', () => {
    const charges = Array.from({ length: 2_000 }, (_, i) => charge({ key: `k${i}` }))
    expect(packed(group(...charges)).readUInt16LE(0)).toBe(2_000)
  })
})

describe('the text of a limit', () => {
  it.each<[LimitOptions, string]>([
    [{ limit: 10, window: '1m' }, 's 10 60000 10 0 1 1 0'],
    [{ limit: 10, window: '1m', subWindows: 6, countDenied: true }, 'x 10 60000 10 0 1 10000 1'],
    [{ algorithm: 'sliding_log', limit: 10, window: '1m' }, 'x 10 60000 10 0 1 1 0'],
    [{ algorithm: 'fixed_window', limit: 10, window: '1m' }, 'f 10 60000 10 0 1 1 0'],
    [{ algorithm: 'token_bucket', limit: 10, window: '1m', burst: 20 }, 't 10 60000 20 1 6000 1 0'],
    [{ algorithm: 'concurrency', limit: 4, leaseTtl: '5s' }, 'c 4 5000 4 0 1 1 0'],
  ])('of %j is %j', (options, text) => {
    expect(new LimitTexts().of(compileLimit(options))).toBe(text)
  })

  it('of a calendar has the edges around the present: two before, two after', () => {
    const days = (...all: string[]) => all.map((day) => Date.parse(`${day}T00:00:00Z`)).join(' ')
    let nowMs = Date.parse('2026-03-15T12:00:00Z')
    const texts = new LimitTexts(() => nowMs)
    const limit = compileLimit({ algorithm: 'fixed_window', limit: 5, calendar: { unit: 'month' } })
    expect(texts.of(limit)).toContain(days('2026-01-01', '2026-02-01', '2026-03-01', '2026-04-01', '2026-05-01'))
    nowMs = Date.parse('2026-04-01T00:00:00Z')
    expect(texts.of(limit)).toContain(days('2026-02-01', '2026-03-01', '2026-04-01', '2026-05-01', '2026-06-01'))
  })
})

describe('a reply', () => {
  it('is read in order, group by group', () => {
    const reply = Buffer.alloc(3 * 21)
    const write = (i: number, code: number, remaining: number, resetMs: number, waitMs: number): void => {
      reply.writeUInt8(code, 21 * i)
      reply.writeUInt32LE(remaining, 21 * i + 1)
      reply.writeDoubleLE(resetMs, 21 * i + 5)
      reply.writeDoubleLE(waitMs, 21 * i + 13)
    }
    write(0, 0, 4_294_967_295, 30_000, 7)
    write(1, 1, 0, 315_360_000_000, 5)
    write(2, 2, 3, 1, 0)
    const most = compileLimit({ limit: 4_294_967_295, window: '1m' })
    const groups = [group(charge({ limit: most }), charge()), group(charge())]
    expect(decodeVerdicts(reply, groups)).toEqual([
      [
        {
          kind: 'allowed',
          allowed: true,
          limit: 4_294_967_295,
          remaining: 4_294_967_295,
          resetAfterMs: 30_000,
          delayMs: 7,
        },
        { kind: 'refused', allowed: false, limit: 10, remaining: 0, resetAfterMs: 315_360_000_000, retryAfterMs: 5 },
      ],
      [{ kind: 'impossible', allowed: false, limit: 10, remaining: 3, resetAfterMs: 1, maxCost: 10 }],
    ])
  })

  it.each<[what: string, code: number, remaining: number, resetMs: number, waitMs: number]>([
    ['an unknown code', 3, 1, 1, 0],
    ['more left than fits', 0, 11, 1, 0],
    ['a negative time', 0, 1, -1, 0],
    ['no number', 1, 0, 1, Number.NaN],
    ['an endless wait', 1, 0, 1, Number.POSITIVE_INFINITY],
    ['a wait of a century', 1, 0, 1, 3_155_760_000_000],
  ])('with %s is none to its group, and one to others', (_, code, remaining, resetMs, waitMs) => {
    const reply = Buffer.alloc(2 * 21)
    reply.writeUInt8(code, 0)
    reply.writeUInt32LE(remaining, 1)
    reply.writeDoubleLE(resetMs, 5)
    reply.writeDoubleLE(waitMs, 13)
    expect(decodeVerdicts(reply, [group(charge()), group(charge())])).toEqual([
      undefined,
      [{ kind: 'allowed', allowed: true, limit: 10, remaining: 0, resetAfterMs: 0, delayMs: 0 }],
    ])
  })

  it('may describe a bucket that takes longer than ten years to fill', () => {
    const slow = compileLimit({ algorithm: 'token_bucket', limit: 1, window: '3650d', burst: 10 })
    const reply = Buffer.alloc(21)
    reply.writeDoubleLE(3_153_600_000_000, 5)
    expect(decodeVerdicts(reply, [group(charge({ limit: slow }))])).toMatchObject([
      [{ resetAfterMs: 3_153_600_000_000 }],
    ])
  })

  it.each([Buffer.alloc(20), Buffer.alloc(22), Buffer.alloc(0), 'x'.repeat(21), null, 21, undefined])(
    'that is %j is none to one charge',
    (reply) => {
      expect(decodeVerdicts(reply, [group(charge())])).toBe(undefined)
    },
  )
})
