import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { requireCommit } from './changed-since.mjs'
import { closingLine, countTests, slowestFiles } from './closing-line-reporter.mjs'
import { root } from './setup.mjs'
import { findCommand } from './system-packages.mjs'
import { addFiles, makeTree } from './temporary-tree.mjs'

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

test('the slowest ten files are listed with the time that their imports, hooks and tests took', () => {
  const file = (i) => ({
    relativeModuleId: `${i}.test.ts`,
    diagnostic: () => ({
      environmentSetupDuration: 100,
      prepareDuration: 100,
      collectDuration: 100,
      setupDuration: 100,
      duration: 1000 * i,
    }),
  })
  const lines = slowestFiles(Array.from({ length: 12 }, (_, i) => file(i)))
  expect(lines).toHaveLength(10)
  expect(lines[0]).toBe('   11.4 s  11.test.ts')
  expect(lines[9]).toBe('    2.4 s  2.test.ts')
})

/** Runs the tests of a tree with the reporter, and returns the exit code and what was printed. */
function runIn(dir, ...args) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const { status, stdout } = spawnSync(process.execPath, [vitest, 'run', ...args], {
    cwd: dir,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '' },
    encoding: 'utf8',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  return { status, stdout }
}

const reporter = fileURLToPath(new URL('./closing-line-reporter.mjs', import.meta.url))
const CONFIG = `export default { test: { globals: true, pool: 'threads', maxWorkers: 1, isolate: false, projects: [
  { extends: true, test: { name: 'a', include: ['a/*.test.mjs'] } },
  { extends: true, test: { name: 'b', include: ['b/*.test.mjs'] } },
], reporters: ['default', ${JSON.stringify(reporter)}] } }`

const FILES = {
  'vitest.config.mjs': CONFIG,
  'source.mjs': 'export const one = 1',
  'a/uses.test.mjs': 'import { one } from "../source.mjs"; test("is one", () => expect(one).toBe(1))',
  'b/apart.test.mjs': 'test("passes", () => {})',
}

test('a run prints its slowest files, and the closing line last', () => {
  const { status, stdout } = runIn(makeTree(FILES))
  expect(status).toBe(0)
  expect(stdout).toMatch(/\nslowest files:\n( +\d+\.\d s {2}(a\/uses|b\/apart)\.test\.mjs\n){2}\n2 passed, 0 failed\n$/)
})

test('a run of one file does not', () => {
  expect(runIn(makeTree(FILES), 'apart').stdout).not.toContain('slowest')
})

describe.skipIf(findCommand('git') === undefined)('--changed', () => {
  const git = (dir, ...args) => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false']
    execFileSync('git', [...who, ...args], { cwd: dir, stdio: 'ignore' })
  }

  function repository() {
    const dir = makeTree(FILES)
    git(dir, 'init')
    git(dir, 'add', '.')
    git(dir, 'commit', '-m', 'first')
    return dir
  }

  test('runs the tests of every project that import what has changed', () => {
    const dir = repository()
    addFiles(dir, { 'source.mjs': 'export const one = 2 - 1' })
    expect(runIn(dir, '--changed')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/\n1 passed, 0 failed\n$/),
    })
    git(dir, 'commit', '-am', 'second')
    addFiles(dir, { 'b/new.test.mjs': 'test("is new", () => {})' })
    expect(runIn(dir, '--changed').stdout).toMatch(/b\/new\.test\.mjs.*\n1 passed, 0 failed\n$/s)
    expect(runIn(dir, '--changed', 'HEAD~1').stdout).toMatch(/\n2 passed, 0 failed\n$/)
  })

  test('says that there are none, and that is no failure', () => {
    const dir = repository()
    const { status, stdout } = runIn(dir, '--changed')
    expect(status).toBe(0)
    expect(stdout).toMatch(/\nno test imports what has changed since the last commit\n0 passed, 0 failed\n$/)
    expect(stdout).not.toContain('include')
    addFiles(dir, { 'README.md': 'text' })
    expect(runIn(dir, '--changed', 'HEAD').stdout).toMatch(
      /\nno test imports what has changed since HEAD\n0 passed, 0 failed\n$/,
    )
  })

  test('takes a commit that there is', async () => {
    const dir = repository()
    await requireCommit(true, dir)
    await requireCommit('HEAD', dir)
    const message =
      '--changed src/core: git has no such commit here; paths come before the flag, as in: npm test -- src/core --changed'
    await expect(requireCommit('src/core', dir)).rejects.toThrow(message)
    await expect(requireCommit('--all', dir)).rejects.toThrow('git has no such commit here')
    await expect(requireCommit(true, makeTree({}))).rejects.toThrow('git has no such commit here')
  })
})
