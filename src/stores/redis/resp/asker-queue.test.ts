import { expect, it } from 'vitest'
import { type Asker, AskerQueue } from './asker-queue.ts'

const asker = (): Asker => ({ answered() {}, failed() {} })

it('an AskerQueue gives back who came first, however it grows and turns', () => {
  const queue = new AskerQueue()
  const expected: Asker[] = []
  for (let round = 1; round <= 60; round++) {
    for (let i = 0; i < round; i++) {
      const one = asker()
      expected.push(one)
      queue.add(one)
    }
    for (let i = 0; i < round - 1; i++) expect(queue.next()).toBe(expected.shift())
  }
  while (expected.length > 0) expect(queue.next()).toBe(expected.shift())
  expect(queue.next()).toBeUndefined()
})
