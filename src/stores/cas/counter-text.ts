import { NEVER } from '../../core/algorithms/outcome.ts'
import { type HeldSlice, SliceBook } from '../lending/slice-book.ts'
import { Counter, type LogRecord } from './counter.ts'

/** The last writes of a counter, the newest last: a node recognizes its writes by them. */
export type Operations = readonly string[]

/** A counter that was stored, with the writes that it remembers. */
export interface StoredCounter {
  readonly counter: Counter
  readonly operations: Operations
}

/** How many writes a counter remembers: one of each node that has written last. */
export const MAX_OPERATIONS = 8

/** What is before the first separator: another form of text gets another. */
const FORM = '1'
const RADIX = 36

/**
 * Formats a counter: its form, its last writes, when it expires, its state and what is lent of it, as in
 * `1;Zk3fQ0.2;1780000080000;1780000020000,5,0;`. Logs begin with `!`: a time, then for each record the time since the
 * one before, its hits and the permit, as far as they are not 0, 1 and none.
 */
export function encodeCounter({ counter, operations }: StoredCounter): string {
  const { expiresAtMs, book } = counter
  const until = expiresAtMs === NEVER ? '' : expiresAtMs
  return `${FORM};${operations.join(',')};${until};${stateText(counter)};${book === undefined ? '' : bookText(book)}`
}

function stateText({ at, first, second, records }: Counter): string {
  if (records.length === 0) return at === NEVER ? '' : `${at},${first},${second}`
  let beforeMs = records[0].timeMs
  let text = `!${beforeMs}`
  for (const { timeMs, hits, id } of records) {
    text += `,${(timeMs - beforeMs).toString(RADIX)}`
    if (hits !== 1 || id !== '') text += `.${hits.toString(RADIX)}`
    if (id !== '') text += `.${id}`
    beforeMs = timeMs
  }
  return text
}

function bookText({ account: { touchedMs, slices } }: SliceBook): string {
  const parts = slices.map(
    ({ holder, sequence, spent, held, expiresAtMs }) => `${holder},${sequence},${spent},${held},${expiresAtMs}`,
  )
  return [touchedMs, ...parts].join('/')
}

/** Reads a counter. Returns undefined for text that is none. */
export function decodeCounter(text: string): StoredCounter | undefined {
  const [form, operations, until, state, book, ...rest] = text.split(';')
  if (form !== FORM || book === undefined || rest.length > 0) return undefined
  const counter = new Counter()
  counter.expiresAtMs = until === '' ? NEVER : Number(until)
  const isRead =
    Number.isFinite(until === '' ? 0 : counter.expiresAtMs) && readState(state, counter) && readBook(book, counter)
  return isRead ? { counter, operations: operations === '' ? [] : operations.split(',') } : undefined
}

function readState(state: string, counter: Counter): boolean {
  if (state === '') return true
  const parts = state.split(',')
  if (!state.startsWith('!')) {
    const numbers = parts.map(Number)
    if (numbers.length !== 3 || parts.includes('') || !numbers.every(Number.isFinite)) return false
    ;[counter.at, counter.first, counter.second] = numbers as [number, number, number]
    return true
  }
  const records: LogRecord[] = []
  let timeMs = Number(parts[0].slice(1))
  for (let i = 1; i < parts.length; i++) {
    const [delta, hits = '1', id = ''] = parts[i].split('.')
    timeMs += wholeOf(delta)
    const record = { timeMs, hits: wholeOf(hits), id }
    if (!(Number.isFinite(timeMs) && record.hits > 0)) return false
    records.push(record)
  }
  counter.records = records
  return records.length > 0
}

/** Reads a whole number with 36 digits. Unlike parseInt, it reads all of the text or none. */
function wholeOf(text: string): number {
  const isBelow = text.charCodeAt(0) === MINUS
  let value = text.length > (isBelow ? 1 : 0) ? 0 : Number.NaN
  for (let i = isBelow ? 1 : 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const digit = code >= LETTER_A ? code - LETTER_A + 10 : code - DIGIT_0
    if (digit < 0 || digit >= RADIX || (code > DIGIT_9 && code < LETTER_A)) return Number.NaN
    value = value * RADIX + digit
  }
  return isBelow ? -value : value
}

const MINUS = 45
const DIGIT_0 = 48
const DIGIT_9 = 57
const LETTER_A = 97

function readBook(text: string, counter: Counter): boolean {
  if (text === '') return true
  const [touched, ...parts] = text.split('/')
  const slices = parts.map((part): HeldSlice => {
    const [holder, ...numbers] = part.split(',')
    const [sequence, spent, held, expiresAtMs] = numbers.map(Number)
    return { holder, sequence, spent, held, expiresAtMs }
  })
  const touchedMs = Number(touched)
  const isWhole = slices.every(({ sequence, spent, held, expiresAtMs }) =>
    [sequence, spent, held, expiresAtMs].every(Number.isFinite),
  )
  if (!isWhole || !Number.isFinite(touchedMs) || slices.length === 0) return false
  counter.book = SliceBook.of({ touchedMs, slices })
  return true
}
