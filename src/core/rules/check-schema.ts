import { type ErrorCode, got } from '../errors.ts'
import { didYouMean, nearest } from '../nearest.ts'
import { findIssues, type Issue } from '../schema/check.ts'
import type { Problems } from './problems.ts'
import type { RuleDocument } from './rule-document.ts'
import { salvage } from './salvage.ts'
import { MAX_LEVELS, RULE_FILE, type RuleFile } from './schema.ts'

/**
 * Checks the form of a rule file and reports everything that does not follow the language. Returns the file, or the
 * remainder without the wrong parts, so that the rest is checked too.
 */
export function checkSchema(source: RuleDocument, problems: Problems): RuleFile | undefined {
  const tooDeep = findTooDeep(source.value)
  if (tooDeep !== undefined) {
    problems.add('RULE_FILE_TOO_DEEP', source.locate(tooDeep), `more than ${MAX_LEVELS} levels`)
    return undefined
  }
  const others = keysOfAnotherFile(source.value)
  if (others !== undefined) {
    problems.add('RULE_FILE_FOREIGN', source.locate([]), `the file has ${others}, but neither domain nor descriptors`)
    return undefined
  }
  const issues = findIssues(RULE_FILE, source.value)
  if (issues.length === 0) return source.value as RuleFile
  const before = problems.count
  reportIssues(issues, source, problems)
  const rest = salvage(source.value, issues, before)
  return findIssues(RULE_FILE, rest).length === 0 ? (rest as RuleFile) : undefined
}

/** Returns the path of a part that lies deeper than any rule: aliases and objects can even be endless. */
function findTooDeep(value: unknown): readonly PropertyKey[] | undefined {
  if (!isDeeper(value, MAX_LEVELS)) return undefined
  const path: PropertyKey[] = []
  for (let part = value, levels = MAX_LEVELS; levels > 0; levels--) {
    const key = Object.keys(part as object).find((each) => isDeeper(valueAt(part, each), levels - 1)) as string
    path.push(Array.isArray(part) ? Number(key) : key)
    part = valueAt(part, key)
  }
  return path
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1))
}

const MAIN_KEYS = ['domain', 'descriptors']
const MAX_SHOWN = 3

/**
 * Returns the first keys of a file that is about something else: it has neither of the two keys that make a rule file,
 * not even with a typo, but has others. Listing every error in it would not help.
 */
function keysOfAnotherFile(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const keys = Object.keys(value)
  if (keys.some((key) => nearest(key, MAIN_KEYS) !== undefined)) return undefined
  const others = keys.filter((key) => !Object.hasOwn(RULE_FILE.fields, key))
  if (others.length === 0) return undefined
  const shown = others.slice(0, MAX_SHOWN).map((key) => got(key).slice(4))
  return `${shown.join(', ')}${others.length > MAX_SHOWN ? ', …' : ''}`
}

/** What is raised about a value of another form, and about a key that there is not. */
export interface IssueCodes {
  readonly invalid: ErrorCode
  readonly unknownKey: ErrorCode
}

const RULE_CODES: IssueCodes = { invalid: 'RULE_INVALID', unknownKey: 'RULE_UNKNOWN_KEY' }

/** Reports what is wrong with a file, each with its place. */
export function reportIssues(
  issues: readonly Issue[],
  source: RuleDocument,
  problems: Problems,
  codes: IssueCodes = RULE_CODES,
): void {
  for (const issue of issues) report(issue, source, problems, codes)
}

function report(
  { path, reason, of, unknownKeys, knownKeys }: Issue,
  source: RuleDocument,
  problems: Problems,
  { invalid, unknownKey }: IssueCodes,
): void {
  for (const key of unknownKeys) {
    const detail = `${JSON.stringify(key)}${didYouMean(key, knownKeys)}`
    problems.add(unknownKey, source.locate([...path, key], 'key'), detail)
  }
  if (of === 'unknown keys') return
  if (of === 'key') {
    problems.add(invalid, source.locate(path, 'key'), `key ${JSON.stringify(path.at(-1))} (${reason})`)
    return
  }
  const value = path.reduce<unknown>(valueAt, source.value)
  const name = path.findLast((part) => typeof part === 'string')
  if (value === undefined && name !== undefined) {
    problems.add(invalid, source.locate(path.slice(0, -1)), `${name} is missing`)
  } else {
    const subject = name === undefined ? '' : `${name}: `
    problems.add(invalid, source.locate(path), `${subject}${got(value)} (${reason})`)
  }
}

function valueAt(value: unknown, part: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined
}
