import { describe, expect, it, test } from 'vitest'
import { customerHref } from '../../state/links.ts'
import { blockHref, entriesOf, explainHref, heldRows } from './callers.ts'

describe('whom a counter is about', () => {
  test.each([
    ['user=ann', [['user', 'ann']]],
    [
      'user=ann|endpoint=/v1',
      [
        ['user', 'ann'],
        ['endpoint', '/v1'],
      ],
    ],
    [
      'query=a=b|user=ann',
      [
        ['query', 'a=b'],
        ['user', 'ann'],
      ],
    ],
    ['user=a|b', [['user', 'a|b']]],
    ['user=', [['user', '']]],
    ['plain', [['plain', '']]],
    ['', []],
  ])('%s is read', (key, expected) => {
    expect(entriesOf(key).map(({ key, value }) => [key, value])).toEqual(expected)
  })
})

describe('the link that explains', () => {
  const asked = (href: string) => JSON.parse(new URLSearchParams(href.split('?')[1]).get('q') ?? '')

  it('holds the request, whatever it is made of', () => {
    const hostile = '"><script>&q=1#'
    expect(asked(explainHref('a&b', `user=${hostile}`))).toEqual({
      domain: 'a&b',
      descriptors: [{ entries: [{ key: 'user', value: hostile }] }],
    })
  })

  it('leaves out what was hashed', () => {
    const { descriptors } = asked(explainHref('api', 'api_key=sk_l~0123456789abcdef|endpoint=/v1'))
    expect(descriptors[0].entries).toEqual([
      { key: 'api_key', value: '' },
      { key: 'endpoint', value: '/v1' },
    ])
  })
})

describe('links of a caller', () => {
  it('lead to the customer, and to a block of the customer or the key', () => {
    expect(customerHref('a/b')).toBe('/customers/a%2Fb')
    expect(blockHref({ customer_id: 'acme', api_key_id: 'k1' })).toBe('/blocks?new=customer%3Aacme')
    expect(blockHref({ customer_id: null, api_key_id: 'k1' })).toBe('/blocks?new=key%3Ak1')
    expect(blockHref({ customer_id: null, api_key_id: null })).toBeUndefined()
  })
})

describe('rows under the pointer', () => {
  it('stay in their place, with new figures, and rows that are gone stay as they were', () => {
    const row = (id: string, count: number) => ({ id, count })
    const shown = [row('a', 3), row('b', 2), row('c', 1)]
    const fresh = [row('b', 9), row('a', 4), row('d', 3)]
    expect(heldRows(shown, fresh, ({ id }) => id)).toEqual([row('a', 4), row('b', 9), row('c', 1)])
  })
})
