import { describe, expect, it } from 'vitest'
import { DEFAULTS, type PlaygroundSettings, queryOf, readSettings, trafficOf } from './settings.ts'
import { simulate } from './simulate.ts'
import { BINS, PATTERNS } from './traffic.ts'

const query = (settings: PlaygroundSettings): URLSearchParams =>
  new URLSearchParams(
    Object.entries(queryOf(settings)).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

describe('an address', () => {
  it('is empty for the defaults', () => {
    expect(query(DEFAULTS).toString()).toBe('')
    expect(readSettings(new URLSearchParams())).toEqual(DEFAULTS)
  })

  it.each<Partial<PlaygroundSettings>>([
    { pattern: 'greedy', isShared: false },
    { pattern: 'drawn', drawn: PATTERNS.wave.traffic[0] },
    { limit: 7, windowMs: 1_000, burst: 3, atOnce: 9, holdMs: 250 },
  ])('holds all of %j', (changes) => {
    const settings = { ...DEFAULTS, ...changes }
    expect(readSettings(query(settings))).toEqual(settings)
  })

  it.each([
    'limit=0',
    'limit=1e9',
    'limit=Infinity',
    'limit=1.5',
    'limit=',
    'window_ms=7',
    'pattern=__proto__',
    'drawn=%3Cscript%3E',
    `drawn=${'1*999.'.repeat(1000)}`,
    'hold_ms=-5',
  ])('that says %s has the default in its place', (search) => {
    const settings = readSettings(new URLSearchParams(search))
    expect(settings).toEqual(DEFAULTS)
    expect(simulate(trafficOf(settings), settings)).toHaveLength(7)
  })

  it('that holds a drawing shows it, whatever else it says', () => {
    const settings = readSettings(new URLSearchParams('pattern=wave&drawn=3*120.'))
    expect(trafficOf(settings)).toEqual([Array<number>(BINS).fill(3)])
  })
})
