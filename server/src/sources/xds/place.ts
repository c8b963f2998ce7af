import { MalformedMessage } from '../../protobuf/reader.ts'

/** As deep as a rule file may nest. */
const MAX_DEPTH = 64

/** A Budget is how many parts messages may still have: a few bytes on the wire are hundreds in memory. */
export interface Budget {
  parts: number
}

/** A Place is how deep something is in a message, and what the message may still have. */
export interface Place {
  readonly budget: Budget
  readonly depth: number
}

/** spend counts a part, and returns the place within it. It throws a MalformedMessage when there are too many, or too deep. */
export function spend({ budget, depth }: Place): Place {
  if (--budget.parts < 0) throw new MalformedMessage('too many descriptors and values')
  if (depth > MAX_DEPTH) throw new MalformedMessage(`more than ${MAX_DEPTH} levels`)
  return { budget, depth: depth + 1 }
}
