import { appendFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { countTests } from './closing-line-reporter.mjs'

/** Returns the first line of an error that is not empty. */
export function firstLine({ name = 'Error', message = '' }) {
  const lines = stripVTControlCharacters(String(message)).split('\n')
  const [line = ''] = lines.map((each) => each.trim()).filter((each) => each !== '')
  return line.startsWith(name) ? line : `${name}: ${line}`
}

/**
 * Writes what happens in a run of the tests to the file FLAKES_REPORT, one JSON object a line, as it happens: a run
 * that dies leaves what failed until then, and which files were running. The last line of a run that ends has its
 * counts.
 */
export default class FlakesReporter {
  #write(entry) {
    appendFileSync(process.env.FLAKES_REPORT, `${JSON.stringify(entry)}\n`)
  }

  onTestModuleStart({ relativeModuleId }) {
    this.#write({ started: relativeModuleId })
  }

  onTestCaseResult(test) {
    const { state, errors = [] } = test.result()
    if (state === 'failed') this.#fail(`${test.module.relativeModuleId} > ${test.fullName}`, errors)
  }

  onTestModuleEnd(module) {
    const { relativeModuleId } = module
    if (module.errors().length > 0) this.#fail(relativeModuleId, module.errors())
    for (const suite of module.children.allSuites()) {
      if (suite.errors().length > 0) this.#fail(`${relativeModuleId} > ${suite.fullName}`, suite.errors())
    }
    this.#write({ done: relativeModuleId })
  }

  onTestRunEnd(modules, unhandledErrors) {
    for (const error of unhandledErrors) this.#fail('outside of a test', [error])
    this.#write({ ended: countTests(modules, unhandledErrors) })
  }

  #fail(test, [error = {}]) {
    this.#write({ failed: { test, error: firstLine(error) } })
  }
}
