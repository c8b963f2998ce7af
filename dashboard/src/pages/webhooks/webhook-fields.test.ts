import { describe, expect, it } from 'vitest'
import type { Webhook } from '../../api/operations.ts'
import { backOf, changeOf, fieldsOf, NO_FIELDS, newWebhook, thresholdsOf } from './webhook-fields.ts'

const HOOK: Webhook = {
  id: 'w1',
  url: 'https://a.example/x',
  description: 'billing',
  customer_id: null,
  events: ['quota.threshold'],
  thresholds: [80, 100],
  enabled: true,
  disabled_reason: null,
  version: 2,
  created_at: '2026-11-16T12:00:00Z',
  updated_at: '2026-11-16T12:00:00Z',
}

describe('thresholds', () => {
  it.each([
    ['50, 80, 100', [50, 80, 100]],
    ['100 % 80;80', [80, 100]],
  ])('%j', (typed, expected) => {
    expect(thresholdsOf(typed)).toEqual(expected)
  })
  it.each(['', 'many', '0', '101', '12.5'])('%j are none', (typed) => {
    expect(thresholdsOf(typed)).toBeUndefined()
  })
})

it('a new webhook hears of everybody unless a customer is named', () => {
  expect(newWebhook({ ...NO_FIELDS, url: ' https://a.example/ ' })).toEqual({
    body: {
      url: 'https://a.example/',
      description: '',
      customer_id: null,
      thresholds: [50, 80, 100],
      enabled: true,
    },
  })
  expect(newWebhook({ ...NO_FIELDS, thresholds: 'x' })).toEqual({
    faults: { url: 'An address begins with https://.', thresholds: 'Percentages such as 50, 80, 100.' },
  })
})

it('a change has only what differs, and can be taken back', () => {
  expect(changeOf(fieldsOf(HOOK), HOOK)).toBeUndefined()
  const change = changeOf({ ...fieldsOf(HOOK), customer: 'acme', thresholds: '90' }, HOOK)
  expect(change).toEqual({ customer_id: 'acme', thresholds: [90] })
  expect(backOf(change ?? {}, HOOK)).toEqual({ customer_id: null, thresholds: [80, 100] })
})
