import { compileLimit } from 'sluice/internal/core/limit'
import type { HeldPermits } from 'sluice/internal/engine/ports'
import { describe, expect, it } from 'vitest'
import { LeaseTokens } from './lease-tokens.ts'

const held = [
  { key: 'sluice:{3}:api|jobs|user=alice', limit: compileLimit({ algorithm: 'concurrency', limit: 3 }) },
  { key: 'größe', limit: compileLimit({ algorithm: 'concurrency', limit: 9, leaseTtl: '90s' }) },
]
const lease: HeldPermits = { id: 'c0ffee', held }
const RULE = 'Send the lease exactly as acquire returned it, to a node with the same SLUICE_SECRET.'

describe('LeaseTokens', () => {
  it('turns a lease into a text and back, on another node too', () => {
    const token = new LeaseTokens('secret').seal(lease)
    expect(token).toMatch(/^[\w-]+$/)
    expect(new LeaseTokens('secret').open(token)).toEqual(lease)
  })

  it('keeps what its process counts with', () => {
    const tokens = new LeaseTokens()
    expect(tokens.open(tokens.seal({ id: 7, held }))).toEqual({ id: 7, held })
  })

  it('hides the keys, and looks different each time', () => {
    const tokens = new LeaseTokens('secret')
    const [one, two] = [tokens.seal(lease), tokens.seal(lease)]
    expect(one).not.toBe(two)
    expect(Buffer.from(one, 'base64url').includes('alice')).toBe(false)
  })

  it('releases a place that was taken without the shared store only where it was taken', () => {
    const [here, there] = [new LeaseTokens('secret'), new LeaseTokens('secret')]
    const token = here.seal({ ...lease, isLocal: true })
    expect(here.open(token)).toEqual({ ...lease, isLocal: true })
    expect(there.open(token)).toBeUndefined()
  })

  it('refuses a token of another secret, or of another process without one', () => {
    const token = new LeaseTokens('secret').seal(lease)
    for (const other of [new LeaseTokens('other'), new LeaseTokens('')]) {
      expect(() => other.open(token)).toThrow(`LEASE_INVALID: lease: unknown lease. ${RULE}`)
    }
    expect(() => new LeaseTokens().open(new LeaseTokens().seal(lease))).toThrow('unknown lease')
  })

  it('refuses a token that was changed or cut anywhere', () => {
    const tokens = new LeaseTokens('secret')
    const bytes = Buffer.from(tokens.seal(lease), 'base64url')
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed[i] ^= 1
      expect(() => tokens.open(changed.toString('base64url'))).toThrow('LEASE_INVALID: lease: unknown lease')
      expect(() => tokens.open(bytes.subarray(0, i).toString('base64url'))).toThrow('LEASE_INVALID: lease: ')
    }
  })

  it.each(['', 'a', '\0', '~~~', 'x'.repeat(100_000)])('refuses what is no token', (text) => {
    expect(() => new LeaseTokens('secret').open(text)).toThrow('LEASE_INVALID: lease: ')
  })
})
