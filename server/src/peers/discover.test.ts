import { expect, it } from 'vitest'
import { discoveryOf } from './discover.ts'

it.each([
  ['a:1', ['a:1']],
  [
    'node-a.example.com:8081, 10.0.0.2:8081,[::1]:8081, 10.0.0.2:8081',
    ['node-a.example.com:8081', '10.0.0.2:8081', '[::1]:8081'],
  ],
])('reads %s', async (text, expected) => {
  expect(await discoveryOf(text, '--peers')()).toEqual(expected)
})

it.each(['', 'a', 'a:', 'a:0', 'a:65536', 'a:b', 'http://a:1', 'a:1,', 'a:1,,b:2', 'dns:name', 'dns:name:', '-a:1'])(
  'refuses %j, and says which address is wrong',
  (text) => {
    expect(() => discoveryOf(text, '--peers')).toThrow('PEERS_INVALID: --peers: got')
  },
)

it('finds the addresses of a name, and rejects where there are none', async () => {
  expect(await discoveryOf('dns:name.invalid:8081', '--peers')().catch(() => [])).toEqual([])
  await expect(discoveryOf('srv:_grpc._tcp.name.invalid', '--peers')()).rejects.toThrow()
})
