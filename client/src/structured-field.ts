/**
 * A FieldMember is one member of a field such as `"burst";q=100;w=60`, `limit=100` or `100;w=60`: its value, the key before an
 * equals sign if there is one, and what follows each semicolon.
 */
export interface FieldMember {
  readonly key: string
  readonly value: string | number
  readonly params: ReadonlyMap<string, string | number>
}

const MAX_CHARACTERS = 8_192
const MEMBER =
  /^[ \t]*(?:([a-z*][\w.*-]*)=)?(?:"((?:[ !#-[\]-~]|\\["\\])*)"|:([\w+/=]*):|(-?\d{1,15}(?:\.\d{1,6})?)|([A-Za-z*][\w:/.*%!-]*))/
const PARAM =
  /^[ \t]*;[ \t]*([a-z*][\w.*-]*)(?:=(?:"((?:[ !#-[\]-~]|\\["\\])*)"|:([\w+/=]*):|(-?\d{1,15}(?:\.\d{1,6})?)|([A-Za-z*][\w:/.*%!-]*)))?/
const COMMA = /^[ \t]*,/

/** parseField reads a field of RFC 9651 as far as rate limits use it. One member that cannot be read makes all of it undefined. */
export function parseField(text: string): readonly FieldMember[] | undefined {
  if (text.length > MAX_CHARACTERS) return undefined
  const members: FieldMember[] = []
  let rest = text.trim()
  while (rest !== '') {
    const found = MEMBER.exec(rest)
    if (found === null) return undefined
    rest = rest.slice(found[0].length)
    const params = new Map<string, string | number>()
    for (let param = PARAM.exec(rest); param !== null; param = PARAM.exec(rest)) {
      params.set(param[1], read(param))
      rest = rest.slice(param[0].length)
    }
    members.push({ key: found[1] ?? '', value: read(found), params })
    const comma = COMMA.exec(rest)
    if (comma === null) return rest.trim() === '' ? members : undefined
    rest = rest.slice(comma[0].length).trimStart()
    if (rest === '') return undefined
  }
  return members
}

/** read returns what stands at the end of a match: a string, bytes, a number or a token. */
function read([, , text, bytes, number, token]: RegExpExecArray): string | number {
  if (number !== undefined) return Number(number)
  return text?.replace(/\\(.)/g, '$1') ?? bytes ?? token ?? ''
}
