import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { reapAtExit } from '../tests/servers/reaper.mjs'
import { until } from '../tests/servers/until.mjs'
import { root } from './setup.mjs'
import { findCommand } from './system-packages.mjs'

const command = [join(root, 'scripts', 'test.mjs')]

test.skipIf(findCommand('git') === undefined)('--changed with a commit that there is not is a failure', () => {
  const args = ['scripts/version', '--changed', 'no-such-commit', '--only']
  const { status, stdout, stderr } = spawnSync(process.execPath, [...command, ...args], {
    encoding: 'utf8',
    timeout: 180_000,
    killSignal: 'SIGKILL',
  })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '0 passed, 1 failed\n' })
  expect(stderr).toContain('--changed no-such-commit: git has no such commit here')
})

test('--watch continues after the first run, until it is ended', async () => {
  const child = spawn(process.execPath, [...command, '--only', '--watch', 'scripts/version'])
  reapAtExit(child)
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  await until('it watches', () => printed.includes('Waiting for file changes'))
  expect(printed).toMatch(/version\.test\.mjs/)
  expect([child.exitCode, child.signalCode]).toEqual([null, null])
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
})
