import { describe, expect, it } from 'vitest'
import { changeTitle, fieldWords, isTime } from './preview-words.ts'

const UUID = '5a4ea33f-4330-4966-bdc2-817d22d38c20'
const change = (table: string | null, id: string | null, before: unknown, after: unknown, kind = 'record') =>
  changeTitle({ kind: kind as 'record', table, id, before, after })

describe('changeTitle', () => {
  it('calls what is made new, and what goes removed', () => {
    expect(change('overrides', UUID, null, {})).toBe('New override')
    expect(change('overrides', UUID, {}, null)).toBe('Override is removed')
    expect(change('customers', 'acme', {}, {})).toBe('Customer acme')
    expect(change('customers', 'acme', null, {})).toBe('New customer acme')
  })

  it('calls a table that it does not know by its name', () => {
    expect(change('sinks', 'a', {}, {})).toBe('Sinks a')
    expect(change(null, null, null, 'domain: a', 'rules')).toBe('Rules')
  })
})

it('fields are words, and times are known by their form', () => {
  expect(fieldWords('requests_per_unit')).toBe('requests per unit')
  expect(isTime('2026-11-20T23:00:00.000Z')).toBe(true)
  expect(isTime('2026-11-20')).toBe(false)
  expect(isTime('soon')).toBe(false)
})
