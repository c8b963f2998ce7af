import { expect, it } from 'vitest'
import { describeScore, resolveFolder, resultsFile, scoreOf } from './stryker.mjs'
import { makeTree } from './temporary-tree.mjs'

const files = {
  'src/core/algorithms/a.ts': '',
  'server/src/edge/gateway/routes/a.ts': '',
  'client/src/a.ts': '',
}

it.each([
  ['core', 'src/core'],
  ['core/algorithms', 'src/core/algorithms'],
  ['core/algorithms/', 'src/core/algorithms'],
  ['gateway/routes', 'server/src/edge/gateway/routes'],
  ['client', 'client/src'],
])('%s is the folder %s', (name, folder) => {
  expect(resolveFolder(name, makeTree(files))).toBe(folder)
})

it.each(['', 'dashboard', 'engine', 'core/calendar', 'core/../engine', 'core/algorithms/a.ts', 'constructor'])(
  'refuses "%s", and names the areas',
  (name) => {
    expect(() => resolveFolder(name, makeTree({ ...files, 'src/engine.ts': '' }))).toThrow(
      `there is no folder "${name}". Name one of core, engine, http-door, stores`,
    )
  },
)

it('keeps one file of results for each folder', () => {
  expect(resultsFile('src/core/http')).toBe('node_modules/.cache/stryker/src-core-http.json')
})

const reportOf = (...statuses) => ({ files: { 'a.ts': { mutants: statuses.map((status) => ({ status })) } } })

it.each([
  [['Killed', 'Timeout', 'Survived', 'NoCoverage'], { detected: 2, total: 4, percent: 50 }],
  [['Killed', 'CompileError', 'RuntimeError', 'Ignored'], { detected: 1, total: 1, percent: 100 }],
  [['Ignored'], { detected: 0, total: 0, percent: undefined }],
])('counts %j', (statuses, score) => {
  expect(scoreOf(reportOf(...statuses))).toEqual(score)
})

it('counts the mutants of all files', () => {
  const files = { ...reportOf('Killed').files, 'b.ts': { mutants: [{ status: 'Survived' }] } }
  expect(scoreOf({ files })).toEqual({ detected: 1, total: 2, percent: 50 })
})

it('describes a score, and a folder without mutants', () => {
  expect(describeScore({ detected: 7, total: 8, percent: 87.5 })).toBe('87.5 %: 7 of 8 mutants detected')
  expect(describeScore({ detected: 0, total: 0, percent: undefined })).toBe('no mutants')
})
