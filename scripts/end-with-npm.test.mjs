import { expect, test } from 'vitest'
import { ancestorsToWatch, isScript, listedProcess, processOf } from './end-with-npm.mjs'
import { findCommand } from './system-packages.mjs'

const START = { npm_lifecycle_script: 'node scripts/start.mjs' }

test.each([
  ['the script that npm runs ends with it', START, '/repo/scripts/start.mjs', true],
  [
    'so does one after another',
    { npm_lifecycle_script: 'node scripts/build.mjs && node a/start.mjs' },
    '/r/a/start.mjs',
    true,
  ],
  ['a program that a script starts does not', START, '/repo/scripts/build.mjs', false],
  ['a program of the same name elsewhere does not', START, '/repo/examples/start.mjs', false],
  ['a script that runs without npm does not', {}, '/repo/scripts/start.mjs', false],
  ['code without a file does not', START, undefined, false],
])('%s', (_, env, program, isOne) => {
  expect(isScript(env, program)).toBe(isOne)
})

const looks = (command) => async (pid) => (pid === 30 ? { parent: 20, command } : undefined)

test.each([
  ['a shell and the npm above it are watched', 'sh -c node scripts/start.mjs --http-port 0 ', [30, 20]],
  ['of npm itself the parent is not: it may run after its terminal has closed', 'npm start --http-port 0 ', [30]],
  ['npm is known where it cannot change its title', 'node /usr/bin/npm start ', [30]],
])('%s', async (_, command, watched) => {
  expect(await ancestorsToWatch(30, START.npm_lifecycle_script, looks(command))).toEqual(watched)
})

test('a parent of which nothing is known is watched', async () => {
  expect(await ancestorsToWatch(31, START.npm_lifecycle_script, looks(''))).toEqual([31])
})

test('a process has a parent and a command line', async () => {
  const own = await processOf(process.pid)
  expect(own.parent).toBe(process.ppid)
  expect(own.command).not.toBe('')
})

test.skipIf(findCommand('ps') === undefined)('ps lists the same parent', async () => {
  expect((await listedProcess(process.pid)).parent).toBe(process.ppid)
})

test('a process that has ended has none', async () => {
  expect(await processOf(2 ** 30)).toBe(undefined)
})
