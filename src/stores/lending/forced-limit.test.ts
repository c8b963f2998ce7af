import { expect, it } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import { forcedLimit } from './forced-limit.ts'

const OPTIONS = { algorithm: 'fixed_window', limit: 10, window: 60_000 } as const

it('counts denied hits too, and is otherwise the same limit', () => {
  const limit = compileLimit(OPTIONS)
  expect(limit.countDenied).toBe(false)
  expect(forcedLimit(limit)).toEqual({ ...limit, countDenied: true })
  expect(Object.isFrozen(forcedLimit(limit))).toBe(true)
})

it('is made once for each limit', () => {
  const limit = compileLimit(OPTIONS)
  expect(forcedLimit(limit)).toBe(forcedLimit(limit))
  expect(forcedLimit(compileLimit(OPTIONS))).not.toBe(forcedLimit(limit))
})

it('is the limit itself where that counts denied hits', () => {
  const limit = compileLimit({ ...OPTIONS, countDenied: true })
  expect(forcedLimit(limit)).toBe(limit)
})
