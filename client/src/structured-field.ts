/**
 * One member of a field such as `"burst";q=100;w=60`, `limit=100` or `100;w=60`: its value, the key before an equals
 * sign if there is one, and what follows each semicolon.
 */
export interface FieldMember {
  readonly key: string
  readonly value: string | number
  readonly params: Params
}

/** Looked up by names that no object has by default: no key begins with an underscore. */
type Params = Readonly<Record<string, string | number | undefined>>

const MAX_CHARACTERS = 8_192
const VALUE = String.raw`(?:"((?:[ !#-[\]-~]|\\["\\])*)"|:([\w+/=]*):|(-?\d{1,15}(?:\.\d{1,6})?)|([A-Za-z*][\w:/.*%!-]*))`
const KEY = String.raw`([a-z*][\w.*-]*)`
const MEMBER = new RegExp(`^[ \\t]*,[ \\t]*(?:${KEY}=)?${VALUE}`)
const PARAM = new RegExp(`^[ \\t]*;[ \\t]*${KEY}(?:=${VALUE})?`)

/** Reads a field of RFC 9651 as far as rate limits use it. One member that cannot be read makes it empty. */
export function parseField(text: string | null): readonly FieldMember[] {
  if (text === null || text.length > MAX_CHARACTERS) return []
  const members: FieldMember[] = []
  let rest = `,${text.trim()}`
  const next = (form: RegExp): RegExpExecArray | null => {
    const found = form.exec(rest)
    rest = rest.slice(found?.[0].length)
    return found
  }
  for (let found = next(MEMBER); found !== null; found = next(MEMBER)) {
    const params: Record<string, string | number> = {}
    for (let param = next(PARAM); param !== null; param = next(PARAM)) params[param[1]] = read(param)
    members.push({ key: found[1] ?? '', value: read(found), params })
  }
  return rest === '' ? members : []
}

/** Returns what stands at the end of a match: a string, bytes, a number or a token. */
function read([, , text, bytes, number, token]: RegExpExecArray): string | number {
  return number === undefined ? (text?.replace(/\\(.)/g, '$1') ?? bytes ?? token ?? '') : Number(number)
}
