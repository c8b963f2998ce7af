// All sentences. In the packed library, error-rules-code.packed.ts takes the place of this file.
export { ERROR_RULES as KNOWN_RULES } from './error-rules.ts'
