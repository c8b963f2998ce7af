import type { Cost, RuleLedger, RuleResponse } from './rule-set.ts'

/**
 * The settings of a rule that says nothing about them: the defaults of LIMIT_OPTIONS, which a test compares. They are
 * not read from there, so that an app with one limit has no table of rule options.
 */
export const DEFAULTS = {
  isNamed: false,
  unlimited: false,
  shadow: false,
  quota: false,
  replaces: [] as readonly string[],
  cost: 1 as Cost,
  consistency: 'exact',
  syncIntervalMs: 100,
  onStoreFailure: 'local',
  openForMs: 0,
  localShare: 1,
  timeoutMs: undefined as number | undefined,
  priority: undefined as number | undefined,
  response: undefined as RuleResponse | undefined,
  retryAfterJitterMs: 0,
  ledger: undefined as RuleLedger | undefined,
} as const
