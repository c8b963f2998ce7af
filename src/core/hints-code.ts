// Hints that guess what was meant. In a bundle, hints-code.bundled.ts takes the place of this file.
export { expectedHint, nameHint, valueHint } from './hints.ts'
