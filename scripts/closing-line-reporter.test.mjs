import { expect, test } from 'vitest'
import { closingLine, countTests } from './closing-line-reporter.mjs'

const testModule = ({ states = [], suiteErrors = [], errors = [] }) => ({
  errors: () => errors,
  children: {
    allSuites: () => [{ errors: () => suiteErrors }],
    allTests: () => states.map((state) => ({ result: () => ({ state }) })),
  },
})

test('the line names passed and failed tests', () => {
  expect(closingLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed')
})

test('the line names skipped tests only if there are any', () => {
  expect(closingLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped')
})

test('the tests of all modules count', () => {
  const modules = [
    testModule({ states: ['passed', 'failed'] }),
    testModule({ states: ['passed', 'skipped', 'pending'] }),
  ]
  expect(countTests(modules)).toEqual({ passed: 2, failed: 1, skipped: 2 })
})

test('an error outside of a test counts as a failure', () => {
  const modules = [testModule({ errors: ['does not load'] }), testModule({ suiteErrors: ['beforeAll throws'] })]
  expect(countTests(modules, ['unhandled rejection'])).toEqual({ passed: 0, failed: 3, skipped: 0 })
})
