import type { PathStep } from './rule-set.ts'

const OPEN: PathStep = Object.freeze({
  isOpen: true,
  wildcard: undefined,
  secret: false,
  sharedAs: undefined,
  detailedMetric: false,
  valueToMetric: false,
  metadata: undefined,
})

/** The path of a rule on one entry whose value identifies the caller. */
export const OPEN_PATH: readonly PathStep[] = Object.freeze([OPEN])

/** Returns the same for a value that is stored and shown as a keyed hash only. */
export const SECRET_PATH: readonly PathStep[] = Object.freeze([Object.freeze({ ...OPEN, secret: true })])
