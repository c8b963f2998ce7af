import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { writeLuaModules } from './scripts/lua.mjs'

// Tests run on the Lua as it is now, also without a build.
writeLuaModules()

/** Files that take a minute begin first: one that began last would be waited for by idle workers. */
const SLOW = [
  'tests/dashboard/dashboard',
  'tests/packages/',
  'tests/quotas/fleet',
  'leased-model',
  'pglite-database',
  'deploy/image',
]

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification): boolean => SLOW.some((part) => moduleId.includes(part))
    const sorted = await super.sort(files)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}

const project = (name: string, include: string[], globalSetup: string[] = []) => ({
  extends: true as const,
  test: {
    name,
    include,
    globalSetup,
    setupFiles: ['./tests/servers/away-from-the-edge.ts', './tests/servers/short-connections.ts'],
  },
})

export default defineConfig({
  resolve: {
    // Tests of the server run against the library's sources, not against its build.
    alias: [
      { find: /^sluice\/internal\/(.+)$/, replacement: `${fileURLToPath(new URL('./src', import.meta.url))}/$1.ts` },
    ],
  },
  test: {
    environment: 'node',
    retry: 0,
    sequence: { sequencer: SlowFirst },
    // Tests of servers wait more than they work: on two cores, three workers keep both busy.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // Hooks start servers, on a machine that may be busy. A test that hangs is ended; one that is slow is not wrong.
    hookTimeout: 60_000,
    testTimeout: 60_000,
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
    projects: [
      project(
        'sluice',
        ['src/**/*.test.ts', 'server/src/**/*.test.ts', 'tests/**/*.test.ts'],
        ['./tests/servers/global-setup.ts'],
      ),
      project('client', ['client/src/**/*.test.ts']),
      project('dashboard', ['dashboard/src/**/*.test.ts']),
      project('scripts', ['scripts/**/*.test.mjs']),
    ],
  },
})
