import { parseDuration } from 'sluice/internal/core/duration'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { MAX_COUNT } from 'sluice/internal/core/limit'

/** How many in what time. */
export interface Rate {
  readonly count: number
  readonly windowMs: number
}

/** Reads `100/1m`. A unit alone is one of it: `100/m`. */
export function readRate(text: string, where: string): Rate {
  const [, count = '', time = ''] = /^(\d{1,10})\s*\/\s*([0-9a-z. ]{1,32})$/i.exec(text.trim()) ?? []
  const windowMs = windowOf(time)
  if (count === '' || windowMs === undefined || Number(count) > MAX_COUNT) {
    throw new SluiceError('RATE_INVALID', where, got(text))
  }
  return { count: Number(count), windowMs }
}

function windowOf(time: string): number | undefined {
  if (time === '') return undefined
  try {
    const ms = parseDuration(/^\d/.test(time) ? time : `1${time}`, 'rate')
    return ms > 0 ? ms : undefined
  } catch {
    return undefined
  }
}
