/**
 * Reads the records of one counter, oldest first. `rewind` goes before the first record, `next` to the following one.
 * Hits of the same time may share a record; `hits` is how many it stands for.
 */
export interface HitLog {
  /** All hits on record, including hits that have left the window. */
  readonly totalHits: number
  /** The time of the newest record. Asked only when there is one. */
  readonly newestMs: number
  rewind(): void
  next(): boolean
  readonly timeMs: number
  readonly hits: number
}
