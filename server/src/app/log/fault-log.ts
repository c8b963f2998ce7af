import type { Log } from './log.ts'

/** Logs requests that failed because of an internal error, with its stack. */
export function faultLog(log: Log): (error: unknown) => void {
  return (error) => {
    const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
    log.error('request.failed', `a request could not be answered: ${message}`, { stack })
  }
}
