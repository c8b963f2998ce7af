/**
 * What a terminal would interpret instead of showing it: control characters, invisible ones, combining ones, characters
 * that change the direction of a line, and unusual spaces.
 */
const HOSTILE =
  /[\p{C}\p{M}\p{Zl}\p{Zp}]|(?! )\p{Zs}|[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/gu

/** Escapes a text so that a terminal shows it and does nothing else: `\u{1b}` for what it would interpret. */
export function plainText(text: string): string {
  // A lone surrogate is of \p{C}, too.
  return text.replace(HOSTILE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

/** Returns how many columns a plain text takes. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += columnsOf(character)
  return width
}

function columnsOf(character: string): number {
  return character.length === 1 && character < '\u1100' ? 1 : WIDE.test(character) ? 2 : 1
}

/** The most characters of a text that are looked at: no line is longer. */
const MAX_LOOKED_AT = 1_000

/** Makes any text exactly this many columns wide: cut off with …, or filled with spaces. */
export function fitted(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const plain = plainText(text.slice(0, MAX_LOOKED_AT))
  const width = widthOf(plain)
  const fill = ' '.repeat(Math.max(0, columns - width))
  if (width <= columns) return align === 'left' ? plain + fill : fill + plain
  let shown = ''
  let left = columns - 1
  for (const character of plain) {
    if (columnsOf(character) > left) break
    left -= columnsOf(character)
    shown += character
  }
  return `${shown}…${' '.repeat(left)}`
}
