/** The longest name of a field that is repeated: longer than all that there are. */
const MAX_NAME = 32

/** Returns a field's name if it can be a typo. Anything else that was sent there, perhaps a key, is not repeated. */
export function shownName(name: string): string {
  if (name.length <= MAX_NAME && /^[A-Za-z_]+$/.test(name)) return JSON.stringify(name)
  return `of ${name.length} characters`
}
