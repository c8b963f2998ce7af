import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../servers/shared.ts'
import { ENTRIES } from './entries.suite.ts'
import { type Packed, Project, pack } from './project.suite.ts'
import { installRunners, runnerPath } from './runners.suite.ts'

let packed: Packed
let project: Project
beforeAll(async () => {
  await installRunners()
  packed = await pack()
  project = new Project()
    .install(packed.library)
    .install(packed.client)
    .link(...new Set(ENTRIES.flatMap(([, needs]) => needs.filter((name) => !name.startsWith('@nestjs/')))))
  // The last version of Nest that Jest can load: 12 is ES modules.
  mkdirSync(join(project.folder, 'node_modules', '@nestjs'))
  for (const name of ['common', 'core', 'throttler']) {
    symlinkSync(runnerPath('@nestjs', name), join(project.folder, 'node_modules', '@nestjs', name))
  }
}, 600_000)
afterAll(() => project?.remove())

/** What a limit, an app and its Redis do in a test of Jest. */
const behaviour = (url: string): string => `
test('limits', async () => {
  const limiter = sluice.rateLimit({ limit: 1, window: '1m' })
  expect([limiter.check('a').allowed, limiter.check('a').allowed]).toEqual([true, false])
  expect(() => sluice.rateLimit({ limit: -1, window: '1m' })).toThrow(sluice.SluiceError)
  // Pages have no sockets.
  if (typeof window === 'object') return
  const shared = sluice.rateLimit({ limit: 1, window: '1m', redis: '${url}', name: String(Math.random()) })
  expect([(await shared.check('a')).allowed, (await shared.check('a')).allowed]).toEqual([true, false])
  await shared.close()
})`

const required = (url: string): string => `
const sluice = require('sluice')
test.each(${JSON.stringify(ENTRIES)})('%s is loaded', (entry, _, names) => {
  const loaded = require(entry)
  for (const name of names) expect(typeof loaded[name]).toBe('function')
})
test('the client is loaded', () => {
  expect(typeof require('sluice-client').createFetch).toBe('function')
})
${behaviour(url)}`

const imported = (url: string): string => `
import * as sluice from 'sluice'
${ENTRIES.map(([entry], i) => `import * as entry${i} from '${entry}'`).join('\n')}
${ENTRIES.map(
  ([entry, , names], i) =>
    `test('${entry} is loaded', () => { for (const name of ${JSON.stringify(names)}) expect(typeof entry${i}[name]).toBe('function') })`,
).join('\n')}
${behaviour(url)}`

describe.each(['node', 'jsdom'])('stock Jest in its environment %s', (environment) => {
  it.each([
    ['CommonJS', 'app.test.cjs', required],
    ['ES modules', 'app.test.mjs', imported],
  ] as const)('loads every entry in %s, which limits there', async (_, file, code) => {
    const { url } = await sharedRedis()
    project.write({
      [file]: code(url),
      'jest.config.cjs': `module.exports = {
        testEnvironment: '${environment === 'node' ? runnerPath('jest-environment-node') : runnerPath('jest-environment-jsdom')}',
        testMatch: ['**/*.test.{cjs,mjs}'], moduleFileExtensions: ['js', 'cjs', 'mjs', 'json'], transform: {},
      }`,
    })
    const flags = file.endsWith('.mjs') ? ['--experimental-vm-modules', '--no-warnings'] : []
    const { code: ended, stderr } = await project.run(
      ...flags,
      runnerPath('jest', 'bin', 'jest.js'),
      file,
      '--runInBand',
    )
    expect(ended, stderr).toBe(0)
    expect(stderr).toMatch(/Tests: +(\d+) passed, \1 total/)
  })
})
