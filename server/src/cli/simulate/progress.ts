import { durationText } from 'sluice/internal/core/duration-text'
import type { Traffic } from '../../simulate/traffic/open-traffic.ts'

const EVERY_MS = 200

/** What progress is written to. */
export interface ProgressScreen {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** What is read, and how much of it was. */
export type ReadTraffic = Pick<Traffic, 'sizeBytes' | 'readBytes'>

/** Shows on a terminal how much of the traffic was replayed, how fast, and how long the rest takes. */
export class ReplayProgress {
  readonly #all: readonly ReadTraffic[]
  readonly #lines: () => number
  readonly #screen: ProgressScreen
  readonly #now: () => number
  readonly #startedAt: number
  #shownAt: number
  #isShown = false

  constructor(
    all: readonly ReadTraffic[],
    lines: () => number,
    screen: ProgressScreen = process.stderr,
    now: () => number = () => performance.now(),
  ) {
    this.#all = all
    this.#lines = lines
    this.#screen = screen
    this.#now = now
    this.#startedAt = now()
    this.#shownAt = this.#startedAt
  }

  readonly update = (): void => {
    if (this.#screen.isTTY !== true) return
    const now = this.#now()
    if (now - this.#shownAt < EVERY_MS) return
    this.#shownAt = now
    this.#isShown = true
    this.#screen.write(`\r\u001b[K${this.#line(now - this.#startedAt)}`)
  }

  /** Clears the line. */
  end(): void {
    if (this.#isShown) this.#screen.write('\r\u001b[K')
  }

  #line(ms: number): string {
    const lines = this.#lines()
    const rate = `${lines.toLocaleString('en-US')} lines, ${Math.round((1_000 * lines) / ms).toLocaleString('en-US')}/s`
    const read = this.#all.reduce((sum, traffic) => sum + traffic.readBytes(), 0)
    const size = this.#all.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? Number.NaN), 0)
    if (!(size > 0) || read === 0) return rate
    const share = Math.min(1, read / size)
    return `${Math.floor(100 * share)} %  ${rate}, ${durationText(((1 - share) * ms) / share, Math.ceil)} left`
  }
}
