import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { expect, it, onTestFinished, vi } from 'vitest'
import { WorkerProcess } from './worker-process.ts'

vi.mock('node:child_process', () => ({ fork: vi.fn(() => new EventEmitter() as ChildProcess) }))

it('starts with a young generation of full size, and lets the flags of the service win', () => {
  const before = process.execArgv
  onTestFinished(() => {
    process.execArgv = before
  })
  process.execArgv = ['--min-semi-space-size=4', '--enable-source-maps']
  new WorkerProcess(1, { received: () => {}, ended: () => {} })
  expect(vi.mocked(fork).mock.lastCall?.[2]).toMatchObject({
    execArgv: ['--min-semi-space-size=16', '--min-semi-space-size=4', '--enable-source-maps'],
  })
})

it('has ended where the machine does not start it', async () => {
  const child = Object.assign(new EventEmitter(), {
    connected: true,
    disconnect: () => {
      child.connected = false
    },
  })
  vi.mocked(fork).mockReturnValueOnce(child as EventEmitter as ChildProcess)
  const ended: string[] = []
  const worker = new WorkerProcess(1, { received: () => {}, ended: (_, how) => void ended.push(how) })
  child.emit('error', Object.assign(new Error('spawn EAGAIN'), { code: 'EAGAIN' }))
  await worker.ended
  expect(ended).toEqual(['no process: EAGAIN'])
})
