import { describe, expect, it } from 'vitest'
import type { Verdict } from '../core/decision.ts'
import { Permit } from './permit.ts'

const ALLOWED: Verdict = { kind: 'allowed', allowed: true, limit: 2, remaining: 1, resetAfterMs: 60_000, delayMs: 0 }
const REFUSED: Verdict = { kind: 'refused', allowed: false, limit: 2, remaining: 0, resetAfterMs: 9, retryAfterMs: 9 }

/** Returns a permit, and how often its place was given back. */
function held() {
  const count = { givenBack: 0 }
  const permit = new Permit(ALLOWED, () => {
    count.givenBack++
  })
  return { permit, count }
}

describe('permit', () => {
  it('gives its place back once, however often it is released', () => {
    const { permit, count } = held()
    expect([permit.release(), permit.release(), permit.release()]).toEqual([true, false, false])
    expect(count.givenBack).toBe(1)
  })

  it('ends with the block that declares it with using', () => {
    const { permit, count } = held()
    {
      using scoped = permit
      expect([scoped.allowed, count.givenBack]).toEqual([true, 0])
    }
    expect(count.givenBack).toBe(1)
  })

  it('ends with a block that throws', () => {
    const { permit, count } = held()
    const work = () => {
      using _ = permit
      throw new Error('the work failed')
    }
    expect(work).toThrow('the work failed')
    expect(count.givenBack).toBe(1)
  })

  it('ends once when it is released inside its block', () => {
    const { permit, count } = held()
    {
      using scoped = permit
      scoped.release()
    }
    permit[Symbol.dispose]()
    expect(count.givenBack).toBe(1)
  })

  it('does not try again to give back a place whose return failed', () => {
    let tries = 0
    const permit = new Permit(ALLOWED, () => {
      tries++
      throw new Error('the store is gone')
    })
    expect(() => permit.release()).toThrow('the store is gone')
    expect([permit.release(), tries]).toEqual([false, 1])
  })

  it('holds nothing when it is refused', () => {
    const permit = new Permit(REFUSED, undefined)
    expect([permit.allowed, permit.decision, permit.release()]).toEqual([false, REFUSED, false])
  })
})
