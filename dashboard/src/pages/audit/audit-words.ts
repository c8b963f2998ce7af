import type { AuditEntry } from '../../api/operations.ts'
import { fullTime } from '../../format/time.ts'
import { differences } from '../../kit/preview/preview-view.tsx'
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

/** A Changed is one field of an entry, before and after. */
export interface Changed {
  readonly field: string
  readonly was: string
  readonly will: string
}

/** What every record has, and what says nothing about a change. */
const UNTOLD = new Set(['createdAtMs', 'updatedAtMs', 'hash'])

/** changesOf lists what an entry changed, in words: expiresAtMs is "expires at", a time. */
export function changesOf({ before, after }: AuditEntry): Changed[] {
  return differences(before, after)
    .filter(({ field }) => !UNTOLD.has(field))
    .map(({ field, was, will }) => ({
      field: fieldText(field),
      was: valueText(field, was),
      will: valueText(field, will),
    }))
}

function fieldText(field: string): string {
  return field
    .replace(/Ms$/, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
}

function valueText(field: string, value: string): string {
  return /AtMs$/.test(field) && /^\d{10,16}$/.test(value) ? fullTime(Number(value)) : value
}
