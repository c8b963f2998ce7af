import type { AuditEntry } from '../../api/operations.ts'
import { fullTime } from '../../format/time.ts'
import type { IconName } from '../../ui/icon.tsx'
import { differences } from '../../ui/preview-view.tsx'
import { rateText, scopeOf } from './limits.ts'

/** A Story is an entry of the audit log in words. */
export interface Story {
  readonly icon: IconName
  readonly text: string
  /** When what was made ends by itself. */
  readonly untilMs: number | undefined
}

/** The fields of records that stories are told by. Audit entries hold records as they are stored. */
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

/** storyOf says what an entry did. What it does not know, it calls by the name of the action. */
export function storyOf({ action, before, after }: AuditEntry): Story {
  const [table = ''] = action.split('.')
  const [was, is] = [asStored(before), asStored(after)]
  const icon = ICONS[table] ?? 'audit'
  if (action === 'counters.reset') return { icon, text: 'Reset counters', untilMs: undefined }
  const tell = TELLERS[table]
  const untilMs = typeof is?.expiresAtMs === 'number' ? is.expiresAtMs : undefined
  return { icon, text: tell === undefined ? action : tell(was, is), untilMs }
}

type Teller = (was: Stored | undefined, is: Stored | undefined) => string

const TELLERS: Readonly<Record<string, Teller>> = {
  customers: (was, is) => {
    if (was === undefined) return 'Made the customer'
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
    `${is === undefined ? 'Took back a grant' : 'Granted extra budget'} of ${grantText(is ?? was ?? {})}`,
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

/** detailsOf lists what differs before and after: names in words, times in the zone of the viewer. */
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

/** An Author is who made or changed a record last, and why. */
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
