import type { Outcome } from '../../core/algorithms/outcome.ts'
import type { Limit } from '../../core/limit.ts'
import type { Chunk } from './entries.ts'

/** Evaluates a counter of numbers, which starts at number `base` of its chunk. writeEntry keeps the result. */
export function evaluateEntry(
  { numbers, words }: Chunk,
  base: number,
  limit: Limit,
  nowMs: number,
  cost: number,
  out: Outcome,
): void {
  const { stateNumbers, evaluateNumbers } = limit.algorithmRecord
  if (stateNumbers === 3) {
    evaluateNumbers(numbers[base + 1], words[2 * base + 4], words[2 * base + 5], limit, nowMs, cost, out)
  } else {
    evaluateNumbers(numbers[base + 1], numbers[base + 2], 0, limit, nowMs, cost, out)
  }
}

export function writeEntry({ numbers, words }: Chunk, base: number, limit: Limit, out: Outcome): void {
  numbers[base + 1] = out.at
  if (limit.algorithmRecord.stateNumbers === 3) {
    words[2 * base + 4] = out.first
    words[2 * base + 5] = out.second
  } else {
    numbers[base + 2] = out.first
  }
}
