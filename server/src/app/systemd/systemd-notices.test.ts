import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Log } from '../log/log.ts'
import { SystemdNotices } from './systemd-notices.ts'

const warn = vi.fn()
const log = { warn } as Partial<Log> as Log
let told: string[]

/** noticesOf are notices that are written down instead of sent. */
function noticesOf(env: NodeJS.ProcessEnv, tell = async (line: string) => void told.push(line)): SystemdNotices {
  return new SystemdNotices({ NOTIFY_SOCKET: '/run/systemd/notify', ...env }, log, tell)
}

beforeEach(() => {
  told = []
  warn.mockClear()
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('systemd', () => {
  it('hears when the service is ready, and when it ends', () => {
    const notices = noticesOf({})
    notices.ready()
    notices.stopping()
    expect(told).toEqual(['READY=1', 'STOPPING=1'])
  })

  it('hears a sign of life twice in the time that it waits for one, also while the service ends', async () => {
    const notices = noticesOf({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: String(process.pid) })
    notices.ready()
    await vi.advanceTimersByTimeAsync(14_999)
    expect(told).toEqual(['READY=1'])
    await vi.advanceTimersByTimeAsync(1)
    notices.stopping()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(told).toEqual(['READY=1', 'WATCHDOG=1', 'STOPPING=1', 'WATCHDOG=1'])
    notices.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([{}, { WATCHDOG_USEC: '0' }, { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '1' }])(
    'hears no sign of life that it did not ask this process for: %j',
    (env) => {
      noticesOf(env).ready()
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  it('is sent one sign at a time, however slow it is', async () => {
    const sent: string[] = []
    const notices = noticesOf({ WATCHDOG_USEC: '2000000' }, (line) => {
      sent.push(line)
      return new Promise(() => {})
    })
    notices.ready()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(sent).toEqual(['READY=1', 'WATCHDOG=1'])
  })

  it('that does not hear is told of in the log, once', async () => {
    const notices = noticesOf({ WATCHDOG_USEC: '2000000' }, () =>
      Promise.reject(new Error('spawn systemd-notify ENOENT')),
    )
    notices.ready()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(warn.mock.calls).toEqual([['systemd.failed', 'systemd does not hear READY=1: spawn systemd-notify ENOENT']])
  })
})
