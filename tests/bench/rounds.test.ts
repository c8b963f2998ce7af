import { afterEach, expect, test } from 'vitest'
import { DueRefusals } from '../../bench/due-refusals.mjs'
import { paced } from '../../bench/pace.mjs'
import { median, table } from '../../bench/report.mjs'
import { measureRounds } from '../../bench/rounds.mjs'

const before = process.exitCode
afterEach(() => {
  process.exitCode = before
})

/** Measures two tasks, where each try of a task takes the next of its results. */
async function run(scripts: Record<string, (number | string)[]>, rounds: number) {
  const said: string[] = []
  const measure = async (name: string) => {
    const next = scripts[name]?.shift()
    return typeof next === 'string' ? { value: 0, voids: [next] } : { value: next, voids: [] }
  }
  const say = (line: string) => said.push(line)
  const results = await measureRounds(Object.keys(scripts), rounds, { measure, nameOf: (name: string) => name, say })
  return { said, values: results.map((runs: { value: number }[]) => runs.map(({ value }) => value)) }
}

test('a void round is printed with its reason, repeated, and no figure', async () => {
  const { values, said } = await run({ exact: ['7 fell back', 1, 2], leased: [3, 4] }, 2)
  expect(values).toEqual([
    [1, 2],
    [3, 4],
  ])
  expect(said[0]).toBe('void: exact, try 1 of at most 6: 7 fell back')
  expect(process.exitCode).toBe(before)
})

test('without a valid round the benchmark exits with 1, and its table says void', async () => {
  const { values, said } = await run({ exact: ['a', 'b', 'c'], memory: [5] }, 1)
  expect(values).toEqual([[], [5]])
  expect(said).toContain('FAILED: no valid round of exact')
  expect(process.exitCode).toBe(1)
  expect(table(['', 'ms'], [['exact', median(values[0]).toFixed(1)]])).toContain('| exact | void |')
})

test('nine of ten refusals are due where a tenth fits', () => {
  let nowMs = 0
  const due = new DueRefusals(10, () => nowMs)
  for (let call = 0; call < 1_000; call++) {
    nowMs = call * 10
    due.add()
  }
  expect(due.judge(0.9)).toEqual({ refused: 0.9, due: 0.9, voids: [] })
  expect(due.judge(0).voids).toEqual(['0.0 % were refused, where 90.0 % were due'])
})

test('what a stall brings together is due to be refused', () => {
  let nowMs = 0
  const due = new DueRefusals(100, () => nowMs)
  for (let call = 0; call < 1_000; call++) {
    nowMs = call < 100 ? 0 : 9_000
    due.add()
  }
  expect(due.judge(0.8).due).toBeCloseTo(0.8)
})

test('a thing for which there is no room waits, and how late it is begun is reported', async () => {
  const begun: number[] = []
  let refusals = 3
  const late = await paced(100_000, 5, { begin: (n: number) => refusals-- <= 0 && begun.push(n) > 0 })
  expect(begun).toEqual([0, 1, 2, 3, 4])
  expect([...late]).toHaveLength(5)
  expect(late.every((ms: number) => ms >= 0)).toBe(true)
})
