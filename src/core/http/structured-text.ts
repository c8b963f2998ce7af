const MAX_NAME_CHARACTERS = 128

/**
 * Converts a rule's name to what a String of RFC 9651 can hold: printable ASCII, anything else as `?`, cut at 128
 * characters. Fields and bodies name a rule the same way.
 */
export function plainName(name: string): string {
  for (let i = 0; i < name.length; i++) {
    if (!isPrintable(name.charCodeAt(i)) || i >= MAX_NAME_CHARACTERS) return replaced(name)
  }
  return name
}

function replaced(name: string): string {
  let out = ''
  for (let i = 0; i < name.length && i < MAX_NAME_CHARACTERS; i++)
    out += isPrintable(name.charCodeAt(i)) ? name[i] : '?'
  return out
}

/** Formats a plain name as a String of RFC 9651, section 3.3.3: in quotes, with `"` and `\` escaped. */
export function quoted(plain: string): string {
  let out = '"'
  for (let i = 0; i < plain.length; i++) {
    const code = plain.charCodeAt(i)
    out += code === 0x22 || code === 0x5c ? `\\${plain[i]}` : plain[i]
  }
  return `${out}"`
}

function isPrintable(code: number): boolean {
  return code >= 0x20 && code <= 0x7e
}
