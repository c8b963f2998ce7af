import { MalformedMessage } from '../../protobuf/reader.ts'

/** As deep as a rule file may nest. */
const MAX_DEPTH = 64

/** How many parts messages may still have: a few bytes on the wire are hundreds in memory. */
export interface DecodeBudget {
  parts: number
}

/** The depth within a message, and its remaining budget. */
export interface DecodePosition {
  readonly budget: DecodeBudget
  readonly depth: number
}

/**
 * Counts a part, and returns the position within it. Throws a MalformedMessage when there are too many or they nest too
 * deep.
 */
export function spend({ budget, depth }: DecodePosition): DecodePosition {
  if (--budget.parts < 0) throw new MalformedMessage('too many descriptors and values')
  if (depth > MAX_DEPTH) throw new MalformedMessage(`more than ${MAX_DEPTH} levels`)
  return { budget, depth: depth + 1 }
}
