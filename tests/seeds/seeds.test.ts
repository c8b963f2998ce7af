import fc from 'fast-check'
import { expect, it } from 'vitest'
import { PROPERTY_SEED } from './seeds.ts'

it('properties that name no seed draw the same cases in every run', () => {
  const drawn = (parameters?: { seed: number }) => {
    const values: number[] = []
    fc.assert(
      fc.property(fc.integer(), (value) => void values.push(value)),
      parameters,
    )
    return values
  }
  expect(drawn()).toEqual(drawn({ seed: PROPERTY_SEED }))
})
