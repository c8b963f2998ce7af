/** The longest name of a field that is repeated: longer than all that there are. */
const MAX_NAME = 32

/** Spells a field's name as far as it can be a typo. What else somebody sent there, a key perhaps, is not repeated. */
export function shownName(name: string): string {
  if (name.length <= MAX_NAME && /^[A-Za-z_]+$/.test(name)) return JSON.stringify(name)
  return `of ${name.length} characters`
}
