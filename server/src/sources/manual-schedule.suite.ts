import type { Schedule } from './timing.ts'

/** A clock that a test owns: what is due happens when the test says so. */
export class ManualSchedule {
  #due: { readonly work: () => void; readonly ms: number }[] = []

  /** How long each that waits is to wait. */
  get pausesMs(): readonly number[] {
    return this.#due.map(({ ms }) => Math.round(ms))
  }

  readonly schedule: Schedule = (work, ms) => {
    const entry = { work, ms }
    this.#due.push(entry)
    return () => {
      this.#due = this.#due.filter((each) => each !== entry)
    }
  }

  /** Does all that waits. */
  pass(): void {
    const due = this.#due
    this.#due = []
    for (const { work } of due) work()
  }
}
