/** globText spells a text so that a pattern of Redis means nothing but that text. */
export function globText(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&')
}
