import { describe, expect, it } from 'vitest'
import { KeyFinder, MAX_KEY_CHARACTERS } from '../../server/src/quotas/book/key-finder.ts'
import { bookOf, customer, hash, key } from '../../server/src/quotas/book/records.suite.ts'

/** A finder of one key, `k1-secret`, that counts what is hashed. */
function counted() {
  const { book } = bookOf({ customers: [customer('acme')], api_keys: [key('k1', 'acme')] })
  const record = book.key('k1')
  if (record === undefined) throw new Error('not there')
  const seen = { hashed: 0 }
  const finder = new KeyFinder((value) => {
    seen.hashed++
    return hash(value)
  })
  finder.put(record)
  return { finder, seen }
}

describe('a stranger who makes up API keys', () => {
  it('pays a hash for each, and pushes out no key that a customer has', () => {
    const { finder, seen } = counted()
    finder.find('k1-secret')
    for (let i = 0; i < 100_000; i++) expect(finder.find(`made-up-${i}`)).toBeUndefined()
    expect(seen.hashed).toBe(100_001)
    expect(finder.find('k1-secret')?.id).toBe('k1')
    expect(seen.hashed).toBe(100_001)
  })

  it('has nothing hashed and nothing kept for a text that is too long to be a key', () => {
    const { finder, seen } = counted()
    for (let i = 0; i < 1_000; i++) finder.find(`${i}`.padEnd(MAX_KEY_CHARACTERS + 1, 'x'))
    expect(seen.hashed).toBe(0)
  })
})
