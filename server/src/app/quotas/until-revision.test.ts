import { expect, it } from 'vitest'
import { untilRevision } from './until-revision.ts'

it.each<[claim: string, first: number, isReached: boolean, waitedMs: number]>([
  ['what is in force is not waited for', 7, true, 0],
  ['what comes is', 4, true, 30],
  ['and after a second it is not any more', -1_000, false, 1_000],
])('%s', async (_, first, isReached, waitedMs) => {
  let [revision, waited] = [first, 0]
  const pause = async (ms: number): Promise<void> => {
    waited += ms
    revision++
  }
  expect([await untilRevision(7, () => revision, pause), waited]).toEqual([isReached, waitedMs])
})
