import { reportIssues } from 'sluice/internal/core/rules/check-schema'
import type { Problems } from 'sluice/internal/core/rules/problems'
import type { RuleDocument } from 'sluice/internal/core/rules/rule-document'
import { findIssues } from 'sluice/internal/core/schema/check'
import { ROUTES_FILE, type RoutesFile } from './schema.ts'

const CODES = { invalid: 'ROUTES_INVALID', unknownKey: 'ROUTES_UNKNOWN_KEY' } as const

/** Checks the form of a routes file, and reports everything that is wrong with it. */
export function checkRoutesFile(document: RuleDocument, problems: Problems): RoutesFile {
  const { value } = document
  reportIssues(findIssues(ROUTES_FILE, value), document, problems, CODES)
  return value as RoutesFile
}

/** Returns whether a value is meant to be a routes file: it has what no rule file has. */
export function isRoutesFile(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return ('upstreams' in value || 'routes' in value) && !('domain' in value) && !('descriptors' in value)
}
