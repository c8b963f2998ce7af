import { describe, expect, it } from 'vitest'
import { filterOf, isMeant, queryOf } from './audit-filter.ts'

const NOW = Date.parse('2026-11-16T12:00:30Z')
const asked = (search: string, hash = '') => queryOf(filterOf(new URLSearchParams(search), hash), NOW)

describe('the address of the audit log', () => {
  it('without anything asks for everything', () => {
    expect(asked('')).toEqual({})
  })

  it('filters by actor, action, kind and customer', () => {
    expect(asked('actor=on+call&action=blocks.put&kind=blocks&customer=acme')).toEqual({
      actor: 'on call',
      action: 'blocks.put',
      kind: 'blocks',
      customer_id: 'acme',
    })
  })

  it('has spans that begin at a whole minute', () => {
    expect(asked('span=day')).toEqual({ from: '2026-11-15T12:00:00.000Z' })
    expect(asked('span=own&from=2026-11-01T00:00Z&to=2026-11-02T00:00Z')).toEqual({
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-11-02T00:00:00.000Z',
    })
  })

  it('leads to an entry, with a few newer ones above it', () => {
    expect(asked('', '12')).toEqual({ up_to: 17 })
    expect(asked('at=2026-11-16T10:00:00Z')).toEqual({ to: '2026-11-16T10:00:02.000Z' })
  })

  it.each(['kind=nonsense', 'span=forever', 'at=soon', 'span=own&from=x&to=y', 'kind=__proto__'])(
    'asks for everything where it makes no sense: %s',
    (search) => {
      expect(asked(search, '-1')).toEqual({})
    },
  )
})

it('the entry that is looked for is known by its number, or by its time', () => {
  const entry = { sequence: 12, at: '2026-11-16T10:00:01Z' }
  const isMeantBy = (search: string, hash: string) => isMeant(filterOf(new URLSearchParams(search), hash), entry)
  expect([
    isMeantBy('', '12'),
    isMeantBy('', '13'),
    isMeantBy('at=2026-11-16T10:00:00Z', ''),
    isMeantBy('', ''),
  ]).toEqual([true, false, true, false])
})
