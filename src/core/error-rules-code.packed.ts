// The sentences that every bundle has; its other parts bring theirs along (addErrorRules).
export { LIMIT_RULES as KNOWN_RULES } from './library-error-rules.ts'
