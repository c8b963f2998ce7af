import { describe, expect, test } from 'vitest'
import { judge, mutate, parseMutants, patienceMs, readReport, selectMutants, summary } from './mutants.mjs'

const mutant = { file: 'src/a.ts', find: '<', replace: '<=', tests: ['src/a.test.ts'], why: 'one too many' }

describe('a list', () => {
  const parse = (...list) => parseMutants(JSON.stringify(list), 'tests/mutants/a.json')

  test('of mutants is taken as it is', () => {
    expect(parse(mutant, mutant)).toEqual([mutant, mutant])
  })

  test.each([
    [{ ...mutant, why: undefined }, '"why" must be a text'],
    [{ ...mutant, replace: '<' }, '"replace" must differ from "find"'],
    [{ ...mutant, tests: [] }, '"tests" must name at least one test file'],
    [{ ...mutant, tests: undefined }, '"tests" must name at least one test file'],
  ])('with something else in it is refused: %j', (wrong, message) => {
    expect(() => parse(mutant, wrong)).toThrow(`tests/mutants/a.json: mutant 2: ${message}`)
  })

  test('that is no array is refused', () => {
    expect(() => parseMutants('{}', 'tests/mutants/a.json')).toThrow('a list of mutants is an array')
  })
})

test('mutants are selected by file and by reason', () => {
  const other = { ...mutant, file: 'src/b.ts', why: 'leaks' }
  const names = (text) => selectMutants([mutant, other], text).map(({ file }) => file)
  expect(names('b.ts')).toEqual(['src/b.ts'])
  expect(names('one too')).toEqual(['src/a.ts'])
  expect(names('')).toEqual(['src/a.ts', 'src/b.ts'])
  expect(names('c.ts')).toEqual([])
})

describe('a mistake', () => {
  test('is made at the one place that looks so', () => {
    expect(mutate('if (a < b) return', mutant)).toBe('if (a <= b) return')
  })

  test('is made exactly as it is written', () => {
    expect(mutate('a < b', { find: 'a', replace: "$&$'" })).toBe("$&$' < b")
  })

  test.each(['if (a > b) return', 'a < b < c'])('is not made if the place is not there exactly once: %s', (source) => {
    expect(mutate(source, mutant)).toBe(undefined)
  })

  test('is not made if the place overlaps with itself', () => {
    expect(mutate('aaa', { find: 'aa', replace: 'b' })).toBe(undefined)
  })
})

describe('a run of tests', () => {
  const tests = ['a.test.ts', 'b.test.ts']
  const run = (found) => judge(tests, { code: 1, isLate: false, failed: [], ...found })

  test('that passes has not seen the mistake', () => {
    expect(run({ code: 0 })).toEqual({ verdict: 'SURVIVED' })
  })

  test('in which every named file fails has caught it', () => {
    expect(run({ failed: ['b.test.ts', 'c.test.ts', 'a.test.ts'] })).toEqual({ verdict: 'caught' })
  })

  test('in which a named file passes has not', () => {
    expect(run({ failed: ['a.test.ts'] })).toEqual({ verdict: 'SURVIVED', note: 'in b.test.ts' })
  })

  test('that hangs has caught it', () => {
    expect(run({ code: null, isLate: true })).toEqual({ verdict: 'caught', note: 'the tests hang' })
  })

  test('that fails outside of a test has caught it', () => {
    expect(run({})).toEqual({ verdict: 'caught', note: 'outside of a test' })
  })
})

test('a report says how each file ended', () => {
  const testResults = [
    { name: '/copy/src/a.test.ts', status: 'failed', startTime: 100, endTime: 150 },
    { name: '/copy/src/b.test.ts', status: 'passed', startTime: 100, endTime: 120 },
  ]
  expect(readReport({ testResults }, '/copy')).toEqual([
    { file: 'src/a.test.ts', isGood: false, tookMs: 50 },
    { file: 'src/b.test.ts', isGood: true, tookMs: 20 },
  ])
})

test('files that take long without a mistake may take longer with one', () => {
  expect([patienceMs([50, 20]), patienceMs([60_000])]).toEqual([90_210, 270_000])
})

test('the summary counts the verdicts', () => {
  expect(summary({ caught: 3, SURVIVED: 0, 'does not build': 1 })).toBe('3 caught, 0 SURVIVED, 1 does not build')
})
