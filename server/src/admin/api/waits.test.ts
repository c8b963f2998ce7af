import { describe, expect, it } from 'vitest'
import { inForceField, waitMsOf } from './waits.ts'

const waitMs = (prefer: string | undefined, wait?: string) => waitMsOf({ headers: { prefer } }, wait)

describe('waitMsOf', () => {
  it.each([
    [undefined, undefined, undefined],
    [undefined, 'all', 5_000],
    ['wait=2', undefined, 2_000],
    ['wait=2', 'all', 2_000],
    ['wait=0', 'all', 0],
    ['respond-async, Wait = "3" ; x=1', undefined, 3_000],
    ['wait=999999999', undefined, 10_000],
    ['wait=-1', undefined, undefined],
    ['wait=1e3', undefined, undefined],
    ['await=3', undefined, undefined],
    ['wait=9999999999999', 'all', 5_000],
  ])('reads Prefer: %s with wait=%s as %s ms', (prefer, wait, ms) => {
    expect(waitMs(prefer, wait)).toBe(ms)
  })
})

describe('inForceField', () => {
  it('counts nodes, and names the missing ones', () => {
    const all = { nodes: 2, confirmed: 2, waitingFor: [], away: [] }
    expect(inForceField(all)).toBe('nodes=2, confirmed=2')
    expect(inForceField({ nodes: 3, confirmed: 1, waitingFor: ['a', 'b'], away: ['c'] })).toBe(
      'nodes=3, confirmed=1, waiting_for=("a" "b"), away=("c")',
    )
    expect(inForceField(undefined)).toBe('unknown')
  })

  it('is one header whatever nodes are called', () => {
    const names = ['a"b\\', 'c\r\nSet-Cookie: d', ...Array.from({ length: 200 }, (_, i) => `node-${i}`)]
    const field = inForceField({ nodes: 202, confirmed: 0, waitingFor: names, away: [] })
    expect(field).toContain('"a\\"b\\\\" "c??Set-Cookie: d" "node-0"')
    expect(field).not.toContain('node-48')
  })
})
