import { describe, expect, it } from 'vitest'
import { preferred, wantsHtml } from './accept.ts'

describe('preferred', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, deflate', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br; q=0.000 , gzip; q=0.001', 'gzip'],
    ['gzip;q=0, br;q=0', 'identity'],
    ['*', 'br'],
    ['*, br;q=0', 'gzip'],
    ['*;q=0', 'identity'],
    ['identity;q=0, zstd', 'identity'],
    ['identity, gzip;q=0.5', 'identity'],
    ['identity, gzip', 'gzip'],
    ['br;q=2, gzip;q=1.000', 'gzip'],
    ['br;q=, gzip;q=x', 'identity'],
    ['brotli, gzi, x-gzip', 'identity'],
    [';;;,,,;q=1', 'identity'],
  ])('answers %j with %s', (header, coding) => {
    expect(preferred(header, ['br', 'gzip'])).toBe(coding)
  })

  it('offers what there is', () => {
    expect(preferred('br, gzip', ['gzip'])).toBe('gzip')
    expect(preferred('br, gzip', [])).toBe('identity')
  })
})

describe('wantsHtml', () => {
  it.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', true],
    ['application/json, Text/HTML;q=0.1', true],
    ['*/*', false],
    ['text/*', false],
    ['text/html;q=0, */*', false],
    ['application/json', false],
    [undefined, false],
  ])('of %j is %s', (accept, wants) => {
    expect(wantsHtml(accept)).toBe(wants)
  })
})
