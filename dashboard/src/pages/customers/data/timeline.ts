import type { AuditEntry } from '../../../api/operations.ts'
import { storedChanges } from '../../../kit/stored-changes.ts'
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
    return `Changed ${storedChanges(was, is)
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

function asStored(value: unknown): Stored | undefined {
  return typeof value === 'object' && value !== null ? (value as Stored) : undefined
}
