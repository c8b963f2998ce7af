import { describe, expect, it, test } from 'vitest'
import { inputOf } from './end-times.ts'
import { type Limits, limitsOf, readFields, typedOf } from './fields.ts'
import { LABELS } from './labels.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const read = (limits: Limits, typed: string, isChange = false) =>
  readFields([['field', limits]], { field: typed }, { isChange, nowMs: NOW })
const right = (value: unknown) => ({ kind: 'right', body: { field: value } })
const wrong = (text: string) => ({ kind: 'wrong', wrongs: { field: text } })
const NOTHING = { kind: 'right', body: {} }

describe('a field that is empty', () => {
  it('is left out of a creation, and taken away by a change', () => {
    for (const kind of ['text', 'date', 'time'] as const) {
      expect(read({ kind }, ' ')).toEqual(NOTHING)
      expect(read({ kind }, ' ', true)).toEqual(right(null))
    }
  })

  it('is wrong where it is needed', () => {
    expect(read({ kind: 'text', isNeeded: true }, '')).toEqual(wrong('This field is needed.'))
    expect(read({ kind: 'integer', min: 1, max: 9, isNeeded: true }, '')).toEqual(wrong('A whole number from 1 to 9.'))
  })
})

describe('a number', () => {
  it('is read as people type it, within the bounds of the API', () => {
    const status: Limits = { kind: 'integer', min: 400, max: 599 }
    expect([read(status, ' 403 '), read(status, '600')]).toEqual([right(403), wrong('A whole number from 400 to 599.')])
    const amount: Limits = { kind: 'integer', min: 1, max: 4_294_967_295 }
    expect([read(amount, '5k'), read(amount, '5G')]).toEqual([right(5_000), wrong('A whole number from 1 on.')])
  })
})

describe('thresholds', () => {
  const [, limits] = limitsOf('createWebhook').find(([name]) => name === 'thresholds') ?? []
  const thresholds = limits as Limits
  it.each([
    ['50, 80, 100', [50, 80, 100]],
    ['100 % 80;80', [80, 100]],
  ])('%j', (typed, expected) => {
    expect(read(thresholds, typed)).toEqual(right(expected))
  })
  it.each(['many', '0', '49', '101', '62.5', '50 60 70 80'])('%j are none', (typed) => {
    expect(read(thresholds, typed)).toEqual(wrong('Up to 3 whole numbers from 50 to 100.'))
  })
})

describe('an end', () => {
  it('that was typed is in the time zone of the viewer', () => {
    expect(read({ kind: 'time' }, inputOf(NOW + 60_000))).toEqual(right('2026-11-16T12:01:00.000Z'))
  })
  it.each([
    ['soon', 'This is not a date and time.'],
    [inputOf(NOW - 60_000), 'The end must be in the future.'],
  ])('%j is wrong', (typed, why) => {
    expect(read({ kind: 'time' }, typed)).toEqual(wrong(why))
  })
})

test('a box is true or false, and notes are pairs', () => {
  expect([read({ kind: 'boolean' }, 'true'), read({ kind: 'boolean' }, '')]).toEqual([right(true), right(false)])
  expect(read({ kind: 'pairs' }, 'a: b')).toEqual(right({ a: 'b' }))
  expect(read({ kind: 'pairs' }, 'b')).toEqual(wrong('“b” has no name before a colon.'))
})

test('a record fills a form, and is read back as it was', () => {
  const record = {
    name: 'Acme',
    tier: null,
    time_zone: 'UTC',
    period_anchor: '2026-01-31',
    metadata: { a: 'b', c: 'd' },
  }
  const fields = limitsOf('changeCustomer').filter(([name]) => name in record)
  expect(readFields(fields, typedOf(fields, record), { isChange: true })).toEqual({ kind: 'right', body: record })
  const hook = { url: 'https://a.example', thresholds: [80, 100], enabled: false }
  const ofHook = limitsOf('changeWebhook').filter(([name]) => name in hook)
  expect(readFields(ofHook, typedOf(ofHook, hook), { isChange: true })).toEqual({ kind: 'right', body: hook })
})

test('every field of a form has a label', () => {
  const names = (['createCustomer', 'createKey', 'createGrant', 'createOverride', 'createBlock'] as const).flatMap(
    (id) => limitsOf(id).map(([name]): string => name),
  )
  expect(names.filter((name) => !Object.hasOwn(LABELS, name))).toEqual([])
})
