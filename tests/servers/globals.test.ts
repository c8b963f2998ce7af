import { expect, it } from 'vitest'
import { rememberProperties } from './globals.ts'

/** An object with a plain property, and one that is read when it is first used, as Response is. */
function globalsLike() {
  const target = { plain: 'ours' }
  return Object.defineProperty(target, 'lazy', {
    configurable: true,
    get: () => 'ours',
    set: (value) => Object.defineProperty(target, 'lazy', { value, configurable: true }),
  }) as { plain: unknown; lazy: unknown; __ofTheRunner?: unknown }
}

it('what was replaced, assigned or removed is put back', () => {
  const target = globalsLike()
  const restore = rememberProperties(target)
  target.plain = 'theirs'
  target.lazy = 'theirs'
  restore()
  expect([target.plain, target.lazy]).toEqual(['ours', 'ours'])
  Object.defineProperty(target, 'lazy', { value: 'theirs', configurable: true })
  Reflect.deleteProperty(target, 'plain')
  restore()
  expect([target.plain, target.lazy]).toEqual(['ours', 'ours'])
})

it('what is new stays, and so does what belongs to the test runner', () => {
  const target = Object.assign(globalsLike(), { __ofTheRunner: 1 })
  const restore = rememberProperties(target)
  Object.assign(target, { __ofTheRunner: 2, theirs: 3 })
  restore()
  expect(target).toMatchObject({ __ofTheRunner: 2, theirs: 3 })
})

it('what cannot be put back does not end the run', () => {
  const target = globalsLike()
  const restore = rememberProperties(target)
  Object.defineProperty(target, 'plain', { value: 'theirs', configurable: false })
  restore()
  expect(target.plain).toBe('theirs')
})
