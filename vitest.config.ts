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

/**
 * The files of a project follow each other: a worker keeps the modules that it has loaded only while the next file in the queue is of the
 * same project. Units are the last, since they are short: no worker is idle for long at the end.
 */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification): boolean => SLOW.some((part) => moduleId.includes(part))
    const place = (file: TestSpecification): number => ORDER.indexOf(file.project.name) * 2 + (isSlow(file) ? 0 : 1)
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => place(a) - place(b))
  }
}

const ORDER = ['sluice', 'quotas', 'alone', 'scripts', 'client', 'dashboard', 'units']

/** Tests that stand beside the code and change no module: they share what they have loaded. */
const UNITS = ['src/**/*.test.ts', 'server/src/**/*.test.ts']

/** Those among all tests that need a process of their own: they replace a module, or look at all of the process (its timers, too). */
const ALONE = [
  'src/engine/renewals.test.ts',
  'src/sources/rule-watcher.test.ts',
  'src/stores/hits/memory-store.test.ts',
  'src/stores/redis/batch/deadline-timer.test.ts',
  'server/src/app/log/log.test.ts',
  'server/src/app/workers/*.test.ts',
  'server/src/edge/gateway/proxy/**/*.test.ts',
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

/** Those that need a PGlite: each of their workers starts one. */
const WITH_PGLITE = [
  'server/src/quotas/**/*.test.ts',
  'server/src/app/usage/*.test.ts',
  'server/src/ledger/ledger.test.ts',
  'server/src/admin/**/*.test.ts',
  'server/src/app/quotas/first-token-file.test.ts',
  'tests/attacks/admin.test.ts',
  'tests/attacks/ledger.test.ts',
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

/** What a project of tests is, apart from the files in it. */
interface Kind {
  /** Files that are left to another project. */
  exclude?: string[]
  /** Files of one worker load each module once: half the time of tests that are mostly loading. */
  sharesModules?: boolean
  /** Whether there are servers for all files of the run. */
  hasServers?: boolean
}

const project = (name: string, include: string[], { exclude = [], sharesModules, hasServers }: Kind = {}) => ({
  extends: true as const,
  test: {
    name,
    include,
    exclude: [...configDefaults.exclude, ...exclude],
    isolate: sharesModules !== true,
    globalSetup: hasServers === true ? [SHARED_SERVERS] : [],
    // fast-check is loaded once for each worker. A file with modules of its own hands the seed to it.
    setupFiles: [...SETUP_FILES, ...(sharesModules === true ? ['./tests/seeds/property-seed.ts'] : [])],
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
    ...PATIENCE,
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
    projects: [
      project('units', UNITS, { exclude: [...ALONE, ...WITH_PGLITE], sharesModules: true, hasServers: true }),
      project('sluice', ['tests/**/*.test.ts'], {
        exclude: [...ALONE, ...WITH_PGLITE],
        sharesModules: true,
        hasServers: true,
      }),
      project('quotas', WITH_PGLITE, { sharesModules: true, hasServers: true }),
      project('alone', ALONE, { hasServers: true }),
      project('client', ['client/src/**/*.test.ts'], { sharesModules: true }),
      project('dashboard', ['dashboard/src/**/*.test.ts'], { sharesModules: true }),
      project('scripts', ['scripts/**/*.test.mjs']),
    ],
  },
})
