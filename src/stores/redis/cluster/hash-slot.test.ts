import { describe, expect, it } from 'vitest'
import { hashSlot } from './hash-slot.ts'

describe('hash slot', () => {
  // The first is the check value of CRC-16/XMODEM, 0x31c3; the others are what CLUSTER KEYSLOT says.
  it.each([
    ['123456789', 12739],
    ['foo', 12182],
    ['bar', 5061],
    ['{foo}bar', 12182],
    ['a{foo}{bar}', 12182],
    ['foo{}{bar}', 8363],
    ['', 0],
  ])('of %j is %i', (key, slot) => {
    expect(hashSlot(key)).toBe(slot)
  })
})
