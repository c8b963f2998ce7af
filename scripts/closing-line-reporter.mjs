/**
 * closingLine spells the counts of a test run; scripts and people read it as the last line of the output.
 */
export function closingLine({ passed, failed, skipped }) {
  const counts = `${passed} passed, ${failed} failed`
  return skipped > 0 ? `${counts}, ${skipped} skipped` : counts
}

/**
 * countTests counts the tests of all projects. An error outside of a test (a file that does not load, a hook that
 * throws, an unhandled rejection) counts as a failure, so that the line never says "0 failed" for a failed run.
 */
export function countTests(testModules, unhandledErrors = []) {
  const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
  for (const testModule of testModules) {
    if (testModule.errors().length > 0) counts.failed += 1
    for (const suite of testModule.children.allSuites()) if (suite.errors().length > 0) counts.failed += 1
    for (const test of testModule.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed' || state === 'failed') counts[state] += 1
      else counts.skipped += 1
    }
  }
  return counts
}

/** ClosingLineReporter prints the closing line when the process ends, after everything that other reporters print. */
export default class ClosingLineReporter {
  #counts

  onInit() {
    process.once('exit', (code) => this.#print(code))
  }

  onTestRunEnd(testModules, unhandledErrors) {
    this.#counts = countTests(testModules, unhandledErrors)
  }

  #print(exitCode) {
    const counts = this.#counts ?? { passed: 0, failed: 0, skipped: 0 }
    if (exitCode !== 0 && counts.failed === 0) counts.failed = 1
    process.stdout.write(`${closingLine(counts)}\n`)
  }
}
