import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Log } from '../log/log.ts'
import { SystemdNotices } from './systemd-notices.ts'

const warn = vi.fn()
const log = { warn } as Partial<Log> as Log
let sent: string[]

/** Makes notices that are recorded instead of sent. */
function noticesOf(env: NodeJS.ProcessEnv, send = async (line: string) => void sent.push(line)): SystemdNotices {
  return new SystemdNotices({ NOTIFY_SOCKET: '/run/systemd/notify', ...env }, log, send)
}

beforeEach(() => {
  sent = []
  warn.mockClear()
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('systemd', () => {
  it('is notified when the service is ready, and when it stops', () => {
    const notices = noticesOf({})
    notices.ready()
    notices.stopping()
    expect(sent).toEqual(['READY=1', 'STOPPING=1'])
  })

  it('gets two heartbeats in the time in which it expects one, also while the service stops', async () => {
    const notices = noticesOf({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: String(process.pid) })
    notices.ready()
    await vi.advanceTimersByTimeAsync(14_999)
    expect(sent).toEqual(['READY=1'])
    await vi.advanceTimersByTimeAsync(1)
    notices.stopping()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(sent).toEqual(['READY=1', 'WATCHDOG=1', 'STOPPING=1', 'WATCHDOG=1'])
    notices.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([{}, { WATCHDOG_USEC: '0' }, { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '1' }])(
    'gets no heartbeat that it does not expect from this process: %j',
    (env) => {
      noticesOf(env).ready()
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  it('is sent one heartbeat at a time, no matter how slow it is', async () => {
    const sent: string[] = []
    const notices = noticesOf({ WATCHDOG_USEC: '2000000' }, (line) => {
      sent.push(line)
      return new Promise(() => {})
    })
    notices.ready()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(sent).toEqual(['READY=1', 'WATCHDOG=1'])
  })

  it('is reported in the log once when it cannot be reached', async () => {
    const notices = noticesOf({ WATCHDOG_USEC: '2000000' }, () =>
      Promise.reject(new Error('spawn systemd-notify ENOENT')),
    )
    notices.ready()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(warn.mock.calls).toEqual([
      ['systemd.failed', 'systemd cannot be notified of READY=1: spawn systemd-notify ENOENT'],
    ])
  })
})
