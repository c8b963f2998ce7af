import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import { inTurns, type Steps } from '../../observe/hot-keys/steps.ts'
import type { QuotaBook } from '../../quotas/book/quota-book.ts'

/** How many keys are looked at before requests have their turn: each takes a hash, of a microsecond. */
const KEYS_A_STEP = 512
/** More are not looked for in one call. */
const MAX_WANTED = 64

const SECRET = {
  isOpen: true,
  wildcard: undefined,
  secret: true,
  sharedAs: undefined,
  detailedMetric: false,
  valueToMetric: false,
  metadata: undefined,
} as const

/** Returns an API key as it may be shown, and as counters of secret keys are named. */
export function shownSecret(keys: KeyEncoder, apiKey: string): string {
  return keys.value(apiKey, SECRET)
}

/**
 * Finds the records of API keys by how the keys are shown, among the keys that requests have carried to this process:
 * it hashes one after the other until it has found what was asked for. Requests are answered in between.
 */
export function keyOwners(
  book: QuotaBook | undefined,
  keys: KeyEncoder,
  shown: readonly string[] = [],
): Promise<Readonly<Record<string, string>>> {
  return inTurns(finding(book, keys, new Set(shown.slice(0, MAX_WANTED))))
}

function* finding(
  book: QuotaBook | undefined,
  keys: KeyEncoder,
  wanted: Set<string>,
): Steps<Readonly<Record<string, string>>> {
  const found: [string, string][] = []
  let touched = 0
  for (const { id, seenAs } of wanted.size === 0 ? [] : (book?.keys() ?? [])) {
    // To pass over a key costs a little, too.
    if (++touched % KEYS_A_STEP === 0) yield 4 * KEYS_A_STEP
    if (seenAs === undefined) continue
    const text = shownSecret(keys, seenAs)
    if (!wanted.delete(text)) continue
    found.push([text, id])
    if (wanted.size === 0) break
  }
  return Object.fromEntries(found)
}
