import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { writeLuaModules } from './scripts/lua.mjs'

// Tests run on the Lua as it is now, also without a build.
writeLuaModules()

preload('tests/servers/quick-pglite.cjs')

/** Has all processes of the run load a file first. */
function preload(file: string): void {
  const option = `--require ${JSON.stringify(fileURLToPath(new URL(file, import.meta.url)))}`
  const { NODE_OPTIONS = '' } = process.env
  if (!NODE_OPTIONS.includes(option)) process.env.NODE_OPTIONS = `${NODE_OPTIONS} ${option}`.trim()
}

/** Files that take a minute begin first: one that began last would be waited for by idle workers. */
const SLOW = [
  'tests/dashboard/dashboard',
  'tests/packages/',
  'tests/quotas/fleet',
  'leased-model',
  'pglite-database',
  'deploy/image',
]

/** The first of them to use a PGlite starts that of its worker, which lasts until the worker ends: it is not to last for all of the run. */
const WITH_PGLITE = /server\/src\/(quotas|ledger|admin|app\/(quotas|usage))\/|tests\/attacks\/(admin|ledger)\./

/**
 * A worker keeps the modules that it has loaded only while the next file in the queue is of the same project, so the files of a project
 * follow each other. Tests next to the code are short: no worker is idle for long at the end.
 */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => place(a) - place(b))
  }
}

function place({ moduleId, project }: TestSpecification): number {
  if (project.name === 'alone') return 0
  if (SLOW.some((part) => moduleId.includes(part))) return 1
  if (WITH_PGLITE.test(moduleId)) return 4
  return moduleId.includes('/tests/') ? 2 : 3
}

/** Tests that need a process of their own: they replace a module, or look at all of the process (its timers, too). */
const ALONE = [
  'client/src/check/held-permit.test.ts',
  'client/src/create-fetch.test.ts',
  'client/src/lane.test.ts',
  'src/engine/renewals.test.ts',
  'src/library/renewed-permits.test.ts',
  'src/sources/rule-watcher.test.ts',
  'src/stores/hits/memory-store.test.ts',
  'src/stores/redis/batch/batcher.test.ts',
  'src/stores/redis/batch/deadline-timer.test.ts',
  'server/src/app/log/log.test.ts',
  'server/src/app/workers/primary.test.ts',
  'server/src/app/workers/worker-process.test.ts',
  'server/src/edge/gateway/proxy/http2-upstreams.test.ts',
  'server/src/grpc/calls.test.ts',
  'tests/attacks/dashboard.test.ts',
  'tests/attacks/gateway-leaks.test.ts',
  'tests/attacks/gateway-limits.test.ts',
  'tests/attacks/held-permits.test.ts',
  'tests/attacks/memory.test.ts',
  'tests/attacks/middleware-proxies.test.ts',
  'tests/chaos/redis-faults.test.ts',
  'tests/cluster/closing.test.ts',
  'tests/live/thread-loader.test.ts',
]

/** Loaded before every test file. */
export const SETUP_FILES = [
  './tests/servers/away-from-the-edge.ts',
  './tests/servers/short-connections.ts',
  './tests/servers/own-globals.ts',
]

/** Starts servers for all files of the run when the first file asks for one. */
export const SHARED_SERVERS = './tests/servers/global-setup.ts'

/** Hooks start servers, on a machine that may be busy. A test that hangs is ended; one that is slow is not wrong. */
export const PATIENCE = { hookTimeout: 300_000, testTimeout: 300_000 }

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
    ...PATIENCE,
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['{src,server/src,tests,client/src,dashboard/src}/**/*.test.ts', 'scripts/**/*.test.mjs'],
          exclude: [...configDefaults.exclude, ...ALONE],
          // Files of one worker load each module once: half the time of tests that are mostly loading.
          isolate: false,
          globalSetup: [SHARED_SERVERS],
          // fast-check is loaded once for each worker. A file with modules of its own hands the seed to it.
          setupFiles: [...SETUP_FILES, './tests/seeds/property-seed.ts'],
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, globalSetup: [SHARED_SERVERS], setupFiles: SETUP_FILES },
      },
    ],
  },
})
