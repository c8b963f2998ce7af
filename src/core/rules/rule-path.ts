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

/** OPEN_PATH is the path of a rule on one entry, whose value tells callers apart. */
export const OPEN_PATH: readonly PathStep[] = Object.freeze([OPEN])

/** SECRET_PATH is the same for a value that is stored and shown as a keyed hash only. */
export const SECRET_PATH: readonly PathStep[] = Object.freeze([Object.freeze({ ...OPEN, secret: true })])
