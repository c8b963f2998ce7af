import { familyOf, widthOf } from './families.ts'

/** The histograms of one family, in one table: a row has a count for each bucket and for +Inf, and the sum. */
export class Histograms {
  readonly width: number
  readonly #bounds: Float64Array
  #table: Float64Array

  constructor(name: string, rows = 1) {
    const family = familyOf(name)
    this.#bounds = Float64Array.from(family.bounds ?? [])
    this.width = widthOf(family)
    this.#table = new Float64Array(rows * this.width)
  }

  get table(): Float64Array {
    return this.#table
  }

  /** Reserves this many rows. */
  reserve(rows: number): void {
    if (rows * this.width <= this.#table.length) return
    const larger = new Float64Array(2 * rows * this.width)
    larger.set(this.#table)
    this.#table = larger
  }

  observe(row: number, value: number): void {
    const bounds = this.#bounds
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]) bucket++
    this.count(row, bucket, value)
  }

  /** Like observe, for a known bucket. */
  count(row: number, bucket: number, value: number): void {
    const at = row * this.width
    this.#table[at + bucket]++
    this.#table[at + this.width - 1] += value
  }

  clear(row: number): void {
    this.#table.fill(0, row * this.width, (row + 1) * this.width)
  }
}
