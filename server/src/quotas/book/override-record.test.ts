import { compileRuleLimit } from 'sluice/internal/core/rules/shared-parts'
import { describe, expect, it } from 'vitest'
import type { Override } from '../model.ts'
import { byEffect, inForce, OverrideRecord, pathOf } from './override-record.ts'

const override = (more: Partial<Override> = {}): OverrideRecord =>
  new OverrideRecord({
    id: 'o',
    descriptor: 'default',
    effectiveAtMs: 0,
    requestsPerUnit: 10,
    unit: 'month',
    algorithm: 'calendar',
    ...more,
  } as Override)

describe('the limit of an override', () => {
  const rule = compileRuleLimit({ limit: 5, window: '1m' })
  const other = compileRuleLimit({ limit: 7, window: '1m' })

  it('follows the calendar of each time zone, whatever it was compiled for before', () => {
    const record = override()
    for (const instead of [rule, other]) {
      for (const zone of ['Europe/Berlin', 'Asia/Tokyo', 'UTC', 'Europe/Berlin']) {
        expect(record.ownLimit(instead, zone)?.limit.calendar).toMatchObject({ unit: 'month', timeZone: zone })
      }
    }
  })

  it('counts as that of each rule does which it stands in for', () => {
    const record = override({ algorithm: undefined, unit: 'minute' })
    const bucket = compileRuleLimit({ algorithm: 'token_bucket', limit: 5, window: '1m' })
    for (let i = 0; i < 2; i++) {
      expect(record.ownLimit(rule, 'UTC')?.limit).toMatchObject({ algorithm: 'sliding_window', max: 10 })
      expect(record.ownLimit(bucket, 'UTC')?.limit).toMatchObject({ algorithm: 'token_bucket', max: 10 })
    }
  })

  it('is compiled once for each rule, up to 33 of them', () => {
    const record = override({ algorithm: undefined, unit: 'minute' })
    const rules = Array.from({ length: 33 }, (_, i) => compileRuleLimit({ limit: i + 1, window: '1m' }))
    const limits = rules.map((each) => record.ownLimit(each, 'UTC'))
    expect(rules.map((each) => record.ownLimit(each, 'UTC'))).toEqual(limits)
    for (const [i, each] of rules.entries()) expect(record.ownLimit(each, 'UTC')).toBe(limits[i])
  })

  it('is none where its numbers make none, and that is reported', () => {
    const reasons: string[] = []
    const record = override({ algorithm: 'gcra', burst: -1, unit: 'second' } as never)
    expect(record.ownLimit(rule, 'UTC', (table, id) => reasons.push(`${table} ${id}`))).toBeUndefined()
    expect(reasons).toEqual(['overrides o'])
  })
})

describe('the override in force', () => {
  it('is the one about the path that took effect last and has not ended', () => {
    const [early, late, ended, other] = [
      override({ id: 'early', effectiveAtMs: 10 }),
      override({ id: 'late', effectiveAtMs: 20 }),
      override({ id: 'ended', effectiveAtMs: 30, expiresAtMs: 40 }),
      override({ id: 'other', descriptor: 'endpoint:POST /orders' }),
    ]
    const all = [early, late, ended, other].sort(byEffect)
    const at = (path: string, nowMs: number) => inForce(all, 'api', path, undefined, nowMs)?.id
    expect([9, 10, 19, 20, 29, 30, 39, 40].map((nowMs) => at('', nowMs))).toEqual([
      undefined,
      'early',
      'early',
      'late',
      'late',
      'ended',
      'ended',
      'late',
    ])
    expect([at('endpoint=POST /orders', 0), inForce(undefined, 'api', '', undefined, 0)]).toEqual(['other', undefined])
  })

  it.each([
    ['default', ''],
    ['endpoint:POST /a:b', 'endpoint=POST /a:b'],
    ['region=eu/endpoint=POST /a:b', 'region=eu/endpoint=POST /a:b'],
    ['endpoint:POST /a=b', 'endpoint=POST /a=b'],
    ['endpoint', 'endpoint'],
  ])('is found by a descriptor %s as rules write it', (descriptor, path) => {
    expect(pathOf(descriptor)).toBe(path)
  })
})
