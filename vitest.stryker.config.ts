import { configDefaults, defineConfig } from 'vitest/config'
import { LoadFailures } from './scripts/stryker-load-failures.mjs'
import base, { PATIENCE, SETUP_FILES, SHARED_SERVERS } from './vitest.config.ts'

// What StrykerJS runs for each mutant: the tests next to the code of one folder, in one project (stryker.config.mjs).
const folder = process.env.STRYKER_FOLDER
if (folder === undefined) throw new Error('STRYKER_FOLDER is not set; run npm run stryker -- FOLDER')

export default defineConfig({
  ...(base.resolve === undefined ? {} : { resolve: base.resolve }),
  test: {
    environment: 'node',
    include: [`${folder}/**/*.test.ts`],
    exclude: configDefaults.exclude,
    // Each file loads the modules again: a mutant in what runs while a module loads would survive otherwise.
    isolate: true,
    globalSetup: [SHARED_SERVERS],
    setupFiles: [...SETUP_FILES, './tests/seeds/property-seed.ts'],
    reporters: [new LoadFailures()],
    ...PATIENCE,
  },
})
