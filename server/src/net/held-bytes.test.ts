import { expect, it } from 'vitest'
import { HeldBytes, type Holder } from './held-bytes.ts'

/** Makes holders of so many bytes each, of which none may be more than `most` together. */
function held(most: number) {
  const holders: (Holder & { heldBytes: number })[] = []
  const bytes = new HeldBytes(most, () => holders)
  const given: string[] = []
  const hold = (network: string, heldBytes: number): void => {
    const holder = {
      network,
      heldBytes,
      giveUp() {
        given.push(`${network} ${holder.heldBytes}`)
        bytes.add(-holder.heldBytes)
        holder.heldBytes = 0
      },
    }
    holders.push(holder)
    bytes.add(heldBytes)
    bytes.relieve()
  }
  return { bytes, hold, given }
}

it('nothing is given up as long as there is room', () => {
  const { bytes, hold, given } = held(100)
  hold('a', 60)
  hold('b', 40)
  expect([bytes.bytes, given]).toEqual([100, []])
})

it('past it, what the heaviest network holds goes, the heaviest first, until a sixteenth is free', () => {
  const { bytes, hold, given } = held(160)
  hold('a', 70)
  hold('b', 30)
  hold('b', 50)
  hold('a', 8)
  hold('b', 3)
  expect(given).toEqual(['b 50'])
  expect(bytes.bytes).toBe(111)
})

it('what shrinks gives no one up', () => {
  const { bytes, hold, given } = held(10)
  hold('a', 10)
  bytes.add(-4)
  bytes.relieve()
  expect([bytes.bytes, given]).toEqual([6, []])
})
