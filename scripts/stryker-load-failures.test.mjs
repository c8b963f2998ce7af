import { expect, it } from 'vitest'
import { createVitest } from 'vitest/node'
import { LoadFailures } from './stryker-load-failures.mjs'
import { makeTree } from './temporary-tree.mjs'

const PASSES = 'it("passes", () => {})'

it.each([
  ['no error where all files load', { 'a.test.mjs': PASSES }, []],
  ['no error for a test that fails', { 'a.test.mjs': 'it("fails", () => expect(1).toBe(2))' }, []],
  [
    'the error of a file that fails to load, next to files that pass',
    { 'a.test.mjs': `${PASSES}; throw new Error("broken while loading")`, 'b.test.mjs': PASSES },
    ['broken while loading'],
  ],
])('reports %s', async (_, files, messages) => {
  const dir = makeTree(files)
  const options = { root: dir, config: false, watch: false, globals: true, reporters: [new LoadFailures()] }
  const vitest = await createVitest('test', options)
  const exitCode = process.exitCode
  try {
    await vitest.start()
    expect([...vitest.state.errorsSet].map(({ message }) => message)).toEqual(messages)
  } finally {
    await vitest.close()
    process.exitCode = exitCode
  }
})
