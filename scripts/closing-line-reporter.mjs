/** Formats the counts of a test run; scripts and people read it as the last line of the output. */
export function closingLine({ passed, failed, skipped }) {
  const counts = `${passed} passed, ${failed} failed`
  return skipped > 0 ? `${counts}, ${skipped} skipped` : counts
}

/**
 * Counts the tests of all projects. An error outside of a test (a file that does not load, a hook that throws, an
 * unhandled rejection) counts as a failure, so that the line never says "0 failed" for a failed run.
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

const SLOWEST = 10

/**
 * Returns a line for each of the files that took longest, with their time from their first import to their last hook.
 */
export function slowestFiles(testModules) {
  const timed = testModules.map((testModule) => {
    const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
      testModule.diagnostic()
    const ms = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration
    return { ms, path: testModule.relativeModuleId }
  })
  const slowest = timed.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST)
  return slowest.map(({ ms, path }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${path}`)
}

/** Prints the slowest files and the closing line when the process ends, after everything that other reporters print. */
export default class ClosingLineReporter {
  #counts
  #slowest = []

  onInit({ config, logger }) {
    process.once('exit', (code) => this.#print(code))
    if (!config.changed) return
    // Here it is no mistake that there are no files: which patterns they would have does not help.
    logger.printNoTestFound = () => logger.log(`no test imports what has changed${sinceWhen(config.changed)}`)
  }

  onTestRunEnd(testModules, unhandledErrors) {
    this.#counts = countTests(testModules, unhandledErrors)
    this.#slowest = slowestFiles(testModules)
  }

  #print(exitCode) {
    const counts = this.#counts ?? { passed: 0, failed: 0, skipped: 0 }
    if (exitCode !== 0 && counts.failed === 0) counts.failed = 1
    // Of one file, the time is there already.
    const slowest = this.#slowest.length > 1 ? `slowest files:\n${this.#slowest.join('\n')}\n\n` : ''
    process.stdout.write(`${slowest}${closingLine(counts)}\n`)
  }
}

const sinceWhen = (changed) => (changed === true ? ' since the last commit' : ` since ${changed}`)
