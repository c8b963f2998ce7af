import { resultsFile } from './scripts/stryker.mjs'

// The settings of `npm run stryker -- FOLDER`, which sets both variables. The tests that run are those next to the code
// of the folder: vitest.stryker.config.ts.
const { STRYKER_FOLDER: folder, STRYKER_TEMPORARY_DIR: temporaryDir } = process.env
if (folder === undefined || temporaryDir === undefined) throw new Error('run npm run stryker -- FOLDER')

export default {
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.stryker.config.ts' },
  plugins: ['@stryker-mutator/vitest-runner'],
  mutate: [`${folder}/**/*.ts`, '!**/*.{test,suite,test-d}.ts', '!**/*.packed.ts', '!**/lua-texts.ts'],
  // The sources are copied, so that nothing changes in the repository. Build output and what no unit test reads stay.
  tempDirName: temporaryDir,
  cleanTempDir: 'always',
  ignorePatterns: ['dist', '/lib', '/client/lib', '/site', '/docs/images', '.sluice', 'coverage'],
  // Mutants whose code and tests have not changed keep their result. A change of an import is not seen: --force.
  incremental: true,
  incrementalFile: resultsFile(folder),
  concurrency: 1,
  // A busy machine is slow, and a test that is late counts as one that fails. Endless loops end by their count.
  timeoutMS: 60_000,
  timeoutFactor: 4,
  dryRunTimeoutMinutes: 20,
  // The TypeScript compiler here has no API for the rewriting of paths, and no path leads out of the copy.
  tsconfigFile: 'none',
  disableTypeChecks: false,
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false, skipFull: true },
}
