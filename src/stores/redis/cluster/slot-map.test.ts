import { expect, it } from 'vitest'
import { hostPortOf, redirectionOf, slotMap } from './slot-map.ts'

it('gives every slot to the master, the first that serves it', () => {
  const owners = slotMap(
    [
      [0, 1, [Buffer.from('10.0.0.1'), 7000, Buffer.from('id')], [Buffer.from('10.0.0.9'), 7009]],
      [4, 4, ['::1', 7001]],
    ],
    '10.0.0.1',
  )
  expect(owners).toHaveLength(5)
  expect([owners[0], owners[1], owners[2], owners[4]]).toEqual([
    '10.0.0.1:7000',
    '10.0.0.1:7000',
    undefined,
    '::1:7001',
  ])
  expect(hostPortOf(owners[4])).toEqual({ host: '::1', port: 7001 })
})

it.each(['', null])('takes a node without a name (%o) for the host that was asked', (name) => {
  expect(slotMap([[0, 0, [name, 7000]]], 'asked')).toEqual(['asked:7000'])
})

it.each([null, 'OK', 5])('refuses %o, which is no map', (reply) => {
  expect(() => slotMap(reply, 'asked')).toThrow('unexpected answer to CLUSTER SLOTS')
})

it.each([
  ['MOVED 3999 127.0.0.1:6381', { address: '127.0.0.1:6381', isAsk: false }],
  ['ASK 3999 ::1:6381', { address: '::1:6381', isAsk: true }],
  ['MOVED 3999 :6381', { address: 'asked:6381', isAsk: false }],
  ['ERR MOVED 3999 a:1', undefined],
  ['MOVED', undefined],
])('reads "%s"', (message, expected) => {
  expect(redirectionOf(message, 'asked:1')).toEqual(expected)
})
