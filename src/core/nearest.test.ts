import { describe, expect, it } from 'vitest'
import { didYouMean, nearest } from './nearest.ts'

const NAMES = ['--rules', '--redis', '--http-port', '--grpc-port', '--admin-port', '--log-level']

describe('nearest', () => {
  it.each<[string, string | undefined]>([
    ['--rule', '--rules'],
    ['--reids', '--redis'],
    ['--http-prot', '--http-port'],
    ['--HTTP_PORT', '--http-port'],
    ['--httpport', '--http-port'],
    ['--loglevel', '--log-level'],
    ['--verbose', undefined],
    ['x', undefined],
    ['', undefined],
  ])('takes %s for %s', (name, meant) => {
    expect(nearest(name, NAMES)).toBe(meant)
  })

  it.each<[string, string | undefined]>([
    ['brust', 'burst'],
    ['keyPrefix', 'key_prefix'],
    ['apikey', 'api-key'],
    ['limt', 'limit'],
    ['limits', 'limit'],
    ['bx', 'by'],
    ['xx', undefined],
    ['window_seconds', undefined],
  ])('takes %s for %s', (name, meant) => {
    expect(nearest(name, ['burst', 'key_prefix', 'api-key', 'limit', 'window', 'by'])).toBe(meant)
  })

  it('takes the first of several that are as near', () => {
    expect(nearest('bc', ['ba', 'bb'])).toBe('ba')
  })

  it('suggests nothing where nothing is near', () => {
    expect(didYouMean('--verbose', NAMES)).toBe('')
    expect(didYouMean('--reds', NAMES)).toBe(', did you mean "--redis"?')
  })
})
