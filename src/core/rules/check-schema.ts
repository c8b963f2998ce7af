import type * as z from 'zod'
import { got } from '../errors.ts'
import type { RuleDocument } from './parse.ts'
import type { Problems } from './problems.ts'
import { type SalvageIssue, salvage } from './salvage.ts'
import { type CheckedRuleFile, ruleFileSchema } from './schema.ts'
import { MOST_LEVELS } from './yaml-text.ts'

/**
 * checkSchema checks the form of a rule file, and reports everything that does not follow the language. It returns the
 * file, or what is left of it without the wrong parts, so that the rest is checked too.
 */
export function checkSchema(source: RuleDocument, problems: Problems): CheckedRuleFile | undefined {
  const tooDeep = findTooDeep(source.value)
  if (tooDeep !== undefined) {
    problems.add('RULE_FILE_TOO_DEEP', source.locate(tooDeep), `more than ${MOST_LEVELS} levels`)
    return undefined
  }
  const result = ruleFileSchema.safeParse(source.value)
  if (result.success) return result.data
  const before = problems.count
  for (const issue of result.error.issues) report(issue, source, problems)
  return ruleFileSchema.safeParse(salvage(source.value, result.error.issues as SalvageIssue[], before)).data
}

/** findTooDeep returns the path of a part that lies deeper than any rule: aliases and objects can even be endless. */
function findTooDeep(value: unknown): readonly PropertyKey[] | undefined {
  if (!isDeeper(value, MOST_LEVELS)) return undefined
  const path: PropertyKey[] = []
  for (let part = value, levels = MOST_LEVELS; levels > 0; levels--) {
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

function report(issue: z.core.$ZodIssue, source: RuleDocument, problems: Problems): void {
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      problems.add('RULE_UNKNOWN_KEY', source.locate([...issue.path, key], 'key'), JSON.stringify(key))
    }
    return
  }
  if (issue.code === 'invalid_key') {
    const key = JSON.stringify(issue.path.at(-1))
    const reason = lowerFirst(issue.issues[0]?.message ?? issue.message)
    problems.add('RULE_INVALID', source.locate(issue.path, 'key'), `key ${key} (${reason})`)
    return
  }
  const value = issue.path.reduce<unknown>(valueAt, source.value)
  const name = issue.path.findLast((part) => typeof part === 'string')
  const subject = name === undefined ? '' : `${String(name)}: `
  if (value === undefined && name !== undefined) {
    problems.add('RULE_INVALID', source.locate(issue.path.slice(0, -1)), `${String(name)} is missing`)
  } else {
    problems.add('RULE_INVALID', source.locate(issue.path), `${subject}${got(value)} (${lowerFirst(issue.message)})`)
  }
}

function valueAt(value: unknown, part: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
