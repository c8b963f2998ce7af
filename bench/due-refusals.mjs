/**
 * How far a share of refusals may lie below and above what is due, in addition to the effect of a window at either end.
 * Traffic that comes in bursts, on a busy machine, has moments without a call that fits: more is refused then.
 */
const BELOW = 0.02
const ABOVE = 0.1

/** Computes which share of decisions is due to be refused, where `fits` of them fit into each second. */
export class DueRefusals {
  #fits
  #nowMs
  #bySecond = new Map()

  constructor(fits, nowMs = () => performance.now()) {
    this.#fits = fits
    this.#nowMs = nowMs
  }

  /** Counts a decision now. */
  add() {
    const second = Math.floor(this.#nowMs() / 1000)
    this.#bySecond.set(second, (this.#bySecond.get(second) ?? 0) + 1)
  }

  /** Forgets what came before. */
  clear() {
    this.#bySecond.clear()
  }

  /** Compares the share that was refused with the share that is due, second by second, because traffic may stall. */
  judge(refused) {
    const counts = [...this.#bySecond.values()]
    const all = counts.reduce((sum, each) => sum + each, 0)
    const due = 1 - counts.reduce((sum, each) => sum + Math.min(each, this.#fits), 0) / all
    const margin = this.#fits / all
    const isDue = refused >= due - BELOW - margin && refused <= due + ABOVE + margin
    return { refused, due, voids: isDue ? [] : [`${percent(refused)} were refused, where ${percent(due)} were due`] }
  }
}

const percent = (share) => `${(100 * share).toFixed(1)} %`
