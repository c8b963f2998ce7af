/**
 * Reports a test file that fails to load as an error of the run. StrykerJS looks at tests alone, and such a file has
 * none: a mutant that breaks its loading would count as one that survives.
 *
 * @implements {import('vitest/node').Reporter}
 */
export class LoadFailures {
  #vitest

  onInit(vitest) {
    this.#vitest = vitest
  }

  onTestModuleEnd(module) {
    for (const error of module.errors()) this.#vitest.state.catchError(error, 'a test file failed to load')
  }
}
