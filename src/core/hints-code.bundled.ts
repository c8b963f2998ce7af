import type { Expected } from './hints.ts'

/** Hints of a bundle: what there is, in place of what was probably meant. */
export function nameHint(_name: string, known: readonly string[]): string {
  return `; known are ${known.join(', ')}`
}

export function expectedHint(_value: unknown, { expected }: Expected): string {
  return `, expected ${expected}`
}

export { expectedHint as valueHint }
