import { expect, it } from 'vitest'
import { untilReached } from './until-reached.ts'

const NEVER = new Promise<void>(() => {})
const NOW = Promise.resolve()

/** Counts the looks that a start takes. `each` runs before each of them. */
async function looksUntil(
  reached: Promise<void>,
  attempted: Promise<void>,
  each: (look: number) => void = () => {},
): Promise<number> {
  let looks = 0
  await untilReached(reached, attempted, async () => {
    each(looks++)
    await new Promise((resolve) => setImmediate(resolve))
  })
  return looks
}

it.each<[string, Promise<void>, Promise<void>, number]>([
  ['gives a first attempt that failed a second for another', NEVER, NOW, 10],
  ['gives an attempt that does not end five seconds', NEVER, NEVER, 50],
])('a start %s', async (_, reached, attempted, looks) => {
  expect(await looksUntil(reached, attempted)).toBe(looks)
})

it('a start continues when the store is reached, late or not', async () => {
  for (const lateLooks of [0, 7, 30]) {
    let reach = (): void => {}
    const reached = new Promise<void>((resolve) => {
      reach = resolve
    })
    const looks = await looksUntil(reached, NEVER, (look) => {
      if (look === lateLooks) reach()
    })
    expect(looks).toBe(lateLooks + 1)
  }
})

it('a start whose first attempt fails late does not wait for another second', async () => {
  let fail = (): void => {}
  const attempted = new Promise<void>((resolve) => {
    fail = resolve
  })
  expect(await looksUntil(NEVER, attempted, (look) => (look === 30 ? fail() : undefined))).toBe(31)
})
