import { NoticeBoard } from './notice-board.ts'
import { SliceBooks } from './slice-books.ts'

/** The books of what is lent, and who hears of it. A store that one process alone asks has no use for them. */
export interface Lending {
  readonly books: SliceBooks
  readonly notices: NoticeBoard
}

/** Returns what a memory store needs to lend slices of its counters to others in this process. */
export function lending(): Lending {
  return { books: new SliceBooks(), notices: new NoticeBoard(true) }
}
