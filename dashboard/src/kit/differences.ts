/** Fields that every record has, and that say nothing about a change. */
const LEFT_OUT = ['version', 'created_at', 'updated_at', 'id', 'hash']

/** A Difference is one field, before and after. */
export interface Difference {
  readonly field: string
  readonly was: string
  readonly will: string
}

/** differences lists the fields that differ. A value that is no record is one field. */
export function differences(before: unknown, after: unknown): Difference[] {
  if (!isRecord(before ?? after) || !isRecord(after ?? before)) {
    return [{ field: 'value', was: textOf(before), will: textOf(after) }].filter(({ was, will }) => was !== will)
  }
  const [was, will] = [(before ?? {}) as Record<string, unknown>, (after ?? {}) as Record<string, unknown>]
  return [...new Set([...Object.keys(was), ...Object.keys(will)])]
    .filter((field) => !LEFT_OUT.includes(field))
    .map((field) => ({ field, was: textOf(was[field]), will: textOf(will[field]) }))
    .filter((each) => each.was !== each.will)
}

const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
