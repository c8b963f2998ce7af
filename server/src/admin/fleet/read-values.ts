// What other nodes send is checked: who can write to Redis can write anything.

const MAX_ITEMS = 5_000
const MAX_TEXT = 16_384

/** listOf reads a list of things; undefined where one of them has another form. */
export function listOf<T>(read: (value: unknown) => T | undefined): (answer: unknown) => readonly T[] | undefined {
  return (answer) => {
    if (!Array.isArray(answer) || answer.length > MAX_ITEMS) return undefined
    const items = answer.map(read)
    return items.includes(undefined) ? undefined : (items as T[])
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT
}

export function isTextOrNone(value: unknown): value is string | undefined {
  return value === undefined || isText(value)
}

export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** A time that no calendar has would break who shows it. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 8.64e15
}
