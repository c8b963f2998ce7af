import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { expect, it, onTestFinished, vi } from 'vitest'
import { WorkerProcess } from './worker-process.ts'

vi.mock('node:child_process', () => ({ fork: vi.fn(() => new EventEmitter() as ChildProcess) }))

it('starts with a young generation of full size, and lets what the service was told win', () => {
  const before = process.execArgv
  onTestFinished(() => {
    process.execArgv = before
  })
  process.execArgv = ['--min-semi-space-size=4', '--enable-source-maps']
  new WorkerProcess(1, { told: () => {}, ended: () => {} })
  expect(vi.mocked(fork).mock.lastCall?.[2]).toMatchObject({
    execArgv: ['--min-semi-space-size=16', '--min-semi-space-size=4', '--enable-source-maps'],
  })
})
