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
    .filter((field) => textOf(was[field]) !== textOf(will[field]))
    .map((field) => ({ field, was: shown(was[field]), will: shown(will[field]) }))
}

/** Lists of words and numbers are shown as people write them, and a rule by its domain and id. */
function shown(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(', ')
  return isRuleName(value) ? `${value.domain}/${value.id}` : textOf(value)
}

const isRuleName = (value: unknown): value is { readonly domain: string; readonly id: string } =>
  isRecord(value) &&
  Object.keys(value as object)
    .sort()
    .join() === 'domain,id'

const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
