import type { AuditEntry } from '../../api/operations.ts'
import { NOUNS } from './audit-filter.ts'

const VERBS: Readonly<Record<string, string>> = {
  remove: 'removed',
  create: 'made',
  revoke: 'revoked',
  reset: 'reset',
  rotate: 'gave a new secret to',
  test: 'tested',
  redeliver: 'sent again an event of',
  disable: 'switched off',
  activate: 'went back to former',
}

/** doneText says what was done, without to what: "changed the tier". */
export function doneText({ action, target, before }: AuditEntry): string {
  const verb = action.slice(action.indexOf('.') + 1)
  const noun = (NOUNS as Readonly<Record<string, string>>)[target.kind] ?? target.kind
  const isNew = before === null || before === undefined
  const done = VERBS[verb] ?? (verb === 'put' || verb === 'update' ? (isNew ? 'made' : 'changed') : verb)
  return verb === 'activate' ? `${done} ${noun}` : `${done} the ${noun}`
}
