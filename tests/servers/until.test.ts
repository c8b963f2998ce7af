import { expect, it } from 'vitest'
import { until } from './until.mjs'

it('asks until the answer is true, and takes an error for not yet', async () => {
  const answers = [async () => '', () => Promise.reject(new Error('down')), async () => 'up']
  expect(await until('it is up', () => answers.shift()?.())).toBe('up')
})

it.each([
  ['is false', () => false, undefined],
  ['throws', () => Promise.reject(new Error('down')), new Error('down')],
  ['never comes', () => new Promise<boolean>(() => {}), undefined],
])('gives up in time when the answer %s', async (_, check, cause) => {
  const error = await until('it is up', check, 30).catch((reason: Error) => reason)
  expect(error).toEqual(new Error('waited 30 ms until it is up', { cause }))
})
