import { expect, it } from 'vitest'
import type { Token } from '../../api/operations.ts'
import { inOrder, isLastAdmin, stateOf } from './token-state.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const token = (id: string, more: Partial<Token> = {}): Token => ({
  id,
  name: id,
  role: 'admin',
  prefix: 'sluice_x',
  created_at: '2026-11-01T00:00:00Z',
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  ...more,
})

it('a token is good, expired or revoked', () => {
  expect(stateOf(token('a'), NOW)).toBe('good')
  expect(stateOf(token('a', { expires_at: '2026-11-16T12:00:00Z' }), NOW)).toBe('expired')
  expect(stateOf(token('a', { expires_at: '2027-01-01T00:00:00Z', revoked_at: '2026-11-02T00:00:00Z' }), NOW)).toBe(
    'revoked',
  )
})

it('valid tokens come first, the newest before the others', () => {
  const list = [
    token('old'),
    token('gone', { revoked_at: '2026-11-15T00:00:00Z', created_at: '2026-11-15T00:00:00Z' }),
    token('new', { created_at: '2026-11-10T00:00:00Z' }),
  ]
  expect(inOrder(list, NOW).map(({ id }) => id)).toEqual(['new', 'old', 'gone'])
})

it('the last admin is known, whatever else there is', () => {
  const list = [token('a'), token('b', { revoked_at: '2026-11-15T00:00:00Z' }), token('v', { role: 'viewer' })]
  expect(list.map((each) => isLastAdmin(each, list, NOW))).toEqual([true, false, false])
  expect(isLastAdmin(list[0], [...list, token('c')], NOW)).toBe(false)
})
