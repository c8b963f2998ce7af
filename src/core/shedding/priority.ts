/**
 * How much a request matters when not all can be served: 0 is critical and never shed, 1 writes, 2 reads, 3 is test
 * traffic and background work, which is shed first.
 */
export type Priority = 0 | 1 | 2 | 3

/** Their names; the position is the number. */
export const PRIORITY_WORDS = ['critical', 'write', 'read', 'test'] as const

export type PriorityWord = (typeof PRIORITY_WORDS)[number]

export const CRITICAL: Priority = 0
export const WRITE: Priority = 1
export const READ: Priority = 2
export const TEST: Priority = 3

/** That of a request of which neither a priority nor a method is known. */
export const DEFAULT_PRIORITY = WRITE

/** Reads a word or its number, also as digits. Anything else is undefined: a typo never makes a request critical. */
export function readPriority(value: unknown): Priority | undefined {
  if (value === 0 || value === 1 || value === 2 || value === 3) return value
  if (typeof value !== 'string') return undefined
  const at = (PRIORITY_WORDS as readonly string[]).indexOf(value)
  if (at >= 0) return at as Priority
  return value.length === 1 && value >= '0' && value <= '3' ? (Number(value) as Priority) : undefined
}

/** Returns that of a request which says nothing else: methods that change nothing (RFC 9110, 9.2.1) are reads. */
export function methodPriority(method: string | undefined): Priority {
  switch (method) {
    case undefined:
      return DEFAULT_PRIORITY
    case 'GET':
    case 'HEAD':
    case 'OPTIONS':
    case 'TRACE':
      return READ
    default:
      return WRITE
  }
}

/** Returns the most important of what rules say; undefined where none says anything. */
export function rulePriority(
  charges: readonly { readonly rule: { readonly priority: number | undefined } }[],
): Priority | undefined {
  let found: number | undefined
  for (let i = 0; i < charges.length; i++) {
    const { priority } = charges[i].rule
    if (priority !== undefined && (found === undefined || priority < found)) found = priority
  }
  return found as Priority | undefined
}
