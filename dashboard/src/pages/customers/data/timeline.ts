import type { AuditEntry } from '../../../api/operations.ts'
import { fullTime } from '../../../format/time.ts'
import { differences } from '../../../kit/preview/preview-view.tsx'
import type { IconName } from '../../../ui/icon.tsx'
import { rateText, scopeOf } from './limits.ts'

/** A Story is an entry of the audit log in words. */
export interface Story {
  readonly icon: IconName
  readonly text: string
  /** When the new record ends. */
  readonly untilMs: number | undefined
}

/** A record as audit entries hold it: as it is stored. */
interface Stored {
  readonly [field: string]: unknown
}

const ICONS: Readonly<Record<string, IconName>> = {
  customers: 'customers',
  api_keys: 'tokens',
  overrides: 'up',
  grants: 'gift',
  blocks: 'blocks',
  counters: 'reset',
}

/** storyOf describes what an entry did. An action that it does not know is named as it is. */
export function storyOf({ action, before, after }: AuditEntry): Story {
  const [table = ''] = action.split('.')
  const [was, is] = [asStored(before), asStored(after)]
  const icon = ICONS[table] ?? 'audit'
  if (action === 'counters.reset') return { icon, text: 'Reset counters', untilMs: undefined }
  const describe = DESCRIPTIONS[table]
  const untilMs = typeof is?.expiresAtMs === 'number' ? is.expiresAtMs : undefined
  return { icon, text: describe === undefined ? action : describe(was, is), untilMs }
}

type Describe = (was: Stored | undefined, is: Stored | undefined) => string

const DESCRIPTIONS: Readonly<Record<string, Describe>> = {
  customers: (was, is) => {
    if (was === undefined) return 'Created the customer'
    if (is === undefined) return 'Removed the customer'
    if (was.status !== is.status) return is.status === 'suspended' ? 'Suspended the customer' : 'Ended the suspension'
    if (was.tier !== is.tier) return `Changed the tier from ${was.tier ?? 'none'} to ${is.tier ?? 'none'}`
    return `Changed ${detailsOf(was, is)
      .map(({ field }) => field)
      .join(', ')}`
  },
  api_keys: (was, is) => {
    const name = keyName(is ?? was ?? {})
    if (was === undefined) return `Added key ${name}`
    if (is === undefined) return `Removed key ${name}`
    return is.revokedAtMs !== was.revokedAtMs ? `Revoked key ${name}` : `Changed key ${name}`
  },
  overrides: (was, is) => {
    if (is === undefined) return `Removed the limit of ${limitText(was ?? {})}`
    return was === undefined
      ? `Set a limit of ${limitText(is)}`
      : `Changed the limit from ${limitText(was)} to ${limitText(is)}`
  },
  grants: (was, is) =>
    `${is === undefined ? 'Revoked a grant' : 'Granted extra budget'} of ${grantText(is ?? was ?? {})}`,
  blocks: (_was, is) => (is === undefined ? 'Unblocked' : 'Blocked'),
}

function keyName({ prefix, name }: Stored): string {
  return [`${String(prefix ?? '')}…`, name && `(${String(name)})`].filter(Boolean).join(' ')
}

function limitText({ requestsPerUnit, unit, descriptor }: Stored): string {
  return `${rateText(Number(requestsPerUnit), String(unit), 0)} for ${scopeText(descriptor)}`
}

const grantText = ({ amount, descriptor }: Stored): string =>
  `${Number(amount).toLocaleString()} for ${scopeText(descriptor)}`

const scopeText = (descriptor: unknown): string => scopeOf({ descriptor: String(descriptor ?? 'default') })

const UNTOLD = ['version', 'createdAtMs', 'updatedAtMs', 'hash']

/** detailsOf lists the fields that differ: names in words, times in the zone of the viewer. */
export function detailsOf(before: unknown, after: unknown) {
  return differences(before, after)
    .filter(({ field }) => !UNTOLD.includes(field))
    .map(({ field, was, will }) => ({ field: wordsOf(field), was: shown(field, was), will: shown(field, will) }))
}

const wordsOf = (field: string): string =>
  field
    .replace(/Ms$/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll('_', ' ')

function shown(field: string, value: string): string {
  return field.endsWith('AtMs') && /^\d+$/.test(value) ? fullTime(Number(value)) : value
}

function asStored(value: unknown): Stored | undefined {
  return typeof value === 'object' && value !== null ? (value as Stored) : undefined
}

/** An Author is who created or changed a record last, and why. */
export interface Author {
  readonly name: string
  readonly at: string
  readonly reason: string | null
}

/** authorsOf finds the last change of each record, in entries of which the newest is the first. */
export function authorsOf(entries: readonly AuditEntry[]): ReadonlyMap<string, Author> {
  const authors = new Map<string, Author>()
  for (const { target, actor, at, reason } of entries) {
    if (!authors.has(target.id)) authors.set(target.id, { name: actor.name, at, reason })
  }
  return authors
}
