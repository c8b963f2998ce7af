import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { reapAtExit } from '../tests/servers/reaper.mjs'
import { until } from '../tests/servers/until.mjs'
import { ancestorsToWatch, isScript, listedProcess, processOf } from './end-with-npm.mjs'
import { findCommand } from './system-packages.mjs'
import { addFiles, makeTree } from './temporary-tree.mjs'

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

/**
 * A process that prints how many signals it has handled, when its parent has ended and a timer as slow as that of the watch has come
 * five times: that of the watch has come meanwhile.
 */
const COUNTS = `
  import { endWithParent } from ${JSON.stringify(new URL('./end-with-npm.mjs', import.meta.url).href)}
  const parent = process.ppid
  let signals = 0
  endWithParent()
  process.on('SIGTERM', () => {
    signals++
    console.log('handled')
  })
  console.log('pid ' + process.pid)
  let looks = 0
  setInterval(() => {
    if (process.ppid !== parent) looks++
    if (looks < 5) return
    console.log('signals ' + signals)
    process.exit()
  }, 300)
`

describe.skipIf(process.platform === 'win32')('a process whose parent ends', () => {
  /** Starts that process below a shell that waits for it. */
  async function child() {
    const program = [process.execPath, '--input-type=module', '-e', COUNTS]
    const shell = spawn('/bin/sh', ['-c', '"$@" & wait', 'sh', ...program], { stdio: ['ignore', 'pipe', 'inherit'] })
    reapAtExit(shell)
    let printed = ''
    shell.stdout.on('data', (chunk) => {
      printed += chunk
    })
    const said = (text) => until(`it says ${text}`, () => new RegExp(`${text}.*(?=\\n)`).exec(printed)?.[0])
    return { shell, said, pid: Number((await said('pid')).slice('pid '.length)) }
  }

  test('gets a signal', async () => {
    const { shell, said } = await child()
    shell.kill('SIGKILL')
    expect(await said('signals')).toBe('signals 1')
  })

  test('gets none if it handles one already', async () => {
    const { shell, said, pid } = await child()
    process.kill(pid, 'SIGTERM')
    await said('handled')
    shell.kill('SIGKILL')
    expect(await said('signals')).toBe('signals 1')
  })

  test('gets none if it has not handled yet the signal that ended its parent', async () => {
    const url = JSON.stringify(new URL('./end-with-npm.mjs', import.meta.url).href)
    const dir = makeTree({
      'scripts/child.mjs': `
        import { existsSync } from 'node:fs'
        import { endWithNpm } from ${url}
        await endWithNpm()
        let signals = 0
        process.on('SIGTERM', () => signals++)
        const parent = process.ppid
        let looks = 0
        setInterval(() => {
          if (process.ppid !== parent) looks++
          if (looks < 5) return
          console.log('signals ' + signals)
          process.exit()
        }, 300)
        setImmediate(() => {
          console.log('pid ' + process.pid)
          // The watch is due when this ends, and comes before signals are read.
          const until = performance.now() + 400
          while (performance.now() < until || !existsSync('go'));
        })
      `,
    })
    const script = 'node scripts/child.mjs'
    const env = { ...process.env, npm_lifecycle_script: script }
    const shell = spawn('/bin/sh', ['-c', `${script} & wait`], { cwd: dir, env, stdio: ['ignore', 'pipe', 'inherit'] })
    reapAtExit(shell)
    let printed = ''
    shell.stdout.on('data', (chunk) => {
      printed += chunk
    })
    const pid = Number(await until('it is busy', () => /pid (\d+)\n/.exec(printed)?.[1]))
    const exited = once(shell, 'exit')
    shell.kill('SIGKILL')
    await exited
    process.kill(pid, 'SIGTERM')
    addFiles(dir, { go: '' })
    expect(await until('it ends', () => /signals \d/.exec(printed)?.[0])).toBe('signals 1')
  })
})
