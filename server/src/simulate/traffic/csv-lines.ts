import { type LineReader, type RequestSlots, readRequestLine, type Slots, slotOf } from './line-reader.ts'
import { Times } from './times.ts'

const SEPARATORS = ['\t', ';', ','] as const
const QUOTE = 0x22
const MAX_COLUMNS = 1_000

/** The columns of a CSV file. */
export interface CsvColumns {
  readonly names: readonly string[]
  readonly separator: string
}

/** Reads the first line of a CSV file. */
export function csvColumns(header: string): CsvColumns {
  const line = header.replace(/^\ufeff/, '').replace(/\r$/, '')
  const separator = SEPARATORS.find((each) => line.includes(each)) ?? ','
  const names: string[] = []
  for (let at = 0; at <= line.length && names.length < MAX_COLUMNS; ) {
    const end = cellEnd(line, at, line.length, separator)
    if (end < 0) break
    names.push(cellText(line, at, end).trim())
    at = end + 1
  }
  return { names, separator }
}

/** Reads the lines of a CSV file (RFC 4180) below its header. A cell has no line breaks. */
export class CsvLines implements LineReader {
  readonly #times = new Times()
  readonly #separator: string
  readonly #slotOfColumn: Int32Array
  readonly #time: number
  readonly #request: number
  readonly #slots: RequestSlots

  /** `columnOf` names the column of each place, -1 for one that the file does not have. */
  constructor(slots: Slots, { names, separator }: CsvColumns, columnOf: ReadonlyMap<number, number>) {
    this.#separator = separator
    this.#slotOfColumn = new Int32Array(names.length).fill(-1)
    for (const [slot, column] of columnOf) if (column >= 0) this.#slotOfColumn[column] = slot
    this.#time = slotOf(slots, 'time')
    this.#request = slotOf(slots, 'request')
    this.#slots = { method: slotOf(slots, 'method'), target: slotOf(slots, 'target') }
  }

  read(text: string, start: number, end: number, values: string[]): number {
    let column = 0
    let at = start
    for (; at <= end && column < this.#slotOfColumn.length; column++) {
      const cell = cellEnd(text, at, end, this.#separator)
      if (cell < 0) return Number.NaN
      const slot = this.#slotOfColumn[column]
      if (slot >= 0) values[slot] = cellText(text, at, cell)
      at = cell + 1
    }
    // Another number of cells than the header has: the line is torn, or a value has the separator.
    if (column !== this.#slotOfColumn.length || at <= end) return Number.NaN
    if (this.#request >= 0) {
      const request = values[this.#request]
      if (request !== '') readRequestLine(request, 0, request.length, this.#slots, values)
    }
    const time = values[this.#time]
    return this.#times.read(time, 0, time.length)
  }
}

/** Returns where a cell ends: at a separator, or at the end. -1: its quotes do not close. */
function cellEnd(text: string, start: number, end: number, separator: string): number {
  let from = start
  if (text.charCodeAt(start) === QUOTE && start < end) {
    let close = text.indexOf('"', start + 1)
    while (close >= 0 && close + 1 < end && text.charCodeAt(close + 1) === QUOTE) close = text.indexOf('"', close + 2)
    if (close < 0 || close >= end) return -1
    from = close + 1
    if (from < end && text[from] !== separator) return -1
  }
  const at = text.indexOf(separator, from)
  return at < 0 || at > end ? end : at
}

function cellText(text: string, start: number, end: number): string {
  if (end - start === 1 && text.charCodeAt(start) === 0x2d) return ''
  if (text.charCodeAt(start) !== QUOTE) return text.slice(start, end)
  return text.slice(start + 1, end - 1).replaceAll('""', '"')
}
