import { expect, test } from 'vitest'
import type { Switch } from '../../api/operations.ts'
import { stateOf, switchesOf, undoOf } from './switch-state.ts'

const made = (rule: Switch['rule'], mode: Switch['mode']): Switch => ({
  rule,
  mode,
  reason: 'a call',
  version: 3,
  updated_at: '2026-01-01T00:00:00Z',
})
const USER = { id: 'user', name: 'per-user', is_shadow: false }
const RULE = { domain: 'api', id: 'user' }

test('without a switch, a rule does what it says', () => {
  const none = switchesOf([])
  expect(stateOf(none, 'api', USER)).toEqual({ mode: 'enforce', by: 'rule' })
  expect(stateOf(none, 'api', { ...USER, is_shadow: true })).toEqual({ mode: 'shadow', by: 'rule' })
})

test('what is said of one rule goes before what is said of all', () => {
  const switches = switchesOf([made(null, 'off'), made(RULE, 'shadow')])
  expect(stateOf(switches, 'api', USER)).toEqual({ mode: 'shadow', by: 'switch' })
  expect(stateOf(switches, 'api', { ...USER, id: 'ip', name: 'ip' })).toEqual({ mode: 'off', by: 'all' })
  expect(stateOf(switches, 'shop', USER)).toEqual({ mode: 'off', by: 'all' })
})

test('a switch may name a rule by its name', () => {
  const switches = switchesOf([made({ domain: 'api', id: 'per-user' }, 'off')])
  expect(stateOf(switches, 'api', USER)).toEqual({ mode: 'off', by: 'switch' })
})

test('a new switch is taken back by removing it', () => {
  expect(undoOf(RULE, undefined, 1)).toEqual({
    operation: 'removeSwitch',
    asked: { version: 1, query: { domain: 'api', rule: 'user' } },
  })
  expect(undoOf(null, undefined, 1)).toEqual({ operation: 'removeSwitch', asked: { version: 1, query: {} } })
})

test('a changed switch is taken back by putting the one before', () => {
  expect(undoOf(RULE, made(RULE, 'off'), 4)).toEqual({
    operation: 'putSwitch',
    asked: { version: 4, body: { rule: RULE, mode: 'off', reason: 'a call' } },
  })
})
