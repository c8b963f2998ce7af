import { afterAll, beforeAll, expect, it, vi } from 'vitest'

let router: typeof import('./router.ts')

beforeAll(async () => {
  vi.stubGlobal('location', { pathname: '/audit', search: '?kind=blocks', hash: '#12' })
  router = await import('./router.ts')
})
afterAll(() => void vi.unstubAllGlobals())

it('the place has the path, what is asked, and what stands after #', () => {
  const { path, query, hash } = router.place.value
  expect([path, query.get('kind'), hash]).toEqual(['/audit', 'blocks', '12'])
  expect(router.here()).toBe('/audit?kind=blocks#12')
})

it.each([
  ['/customers/acme?tab=keys', '/customers/acme?tab=keys'],
  [null, '/'],
  ['', '/'],
  ['https://evil.example/', '/'],
  ['//evil.example/', '/'],
  ['/\\evil.example/', '/'],
  ['javascript:alert(1)', '/'],
  ['/login?back=/x', '/'],
])('after a login, %j leads to %s', (given, expected) => {
  expect(router.safeAddress(given)).toBe(expected)
})

it.each([
  ['/customers/:id', '/customers/a%2Fb', { id: 'a/b' }],
  ['/customers/:id', '/customers/%', undefined],
  ['/customers/:id', '/customers', undefined],
  ['/blocks', '/blocks/', {}],
])('%s is matched by %s', (form, path, expected) => {
  expect(router.matchPath(form, path)).toEqual(expected)
})
