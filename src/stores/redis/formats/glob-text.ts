/** Escapes a text so that a pattern of Redis matches nothing but that text. */
export function globText(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&')
}
