import { type Clock, SteadyClock } from '../core/clock.ts'

const { hrtime } = process

/** systemClock makes a steady clock of this machine. hrtime is the cheapest way here to ask for the time. */
export function systemClock(): Clock {
  return new SteadyClock(Date.now, monotonicMs)
}

/** monotonicMs is the monotonic clock of this machine. */
export function monotonicMs(): number {
  const time = hrtime()
  return time[0] * 1_000 + time[1] / 1_000_000
}
