import { fullTime } from '../format/time.ts'
import { type Difference, differences } from './differences.ts'
import { auditedText } from './in-force-words.ts'

/** A StoredChange is one field of a record, before and after. */
export interface StoredChange {
  readonly field: string
  readonly was: string
  readonly will: string
}

/** Fields that every record has, and that say nothing about a change. */
const LEFT_OUT = ['version', 'createdAtMs', 'updatedAtMs', 'hash']

/** storedChanges lists the fields that differ in an entry of the audit log: names in words, times in the zone of the viewer. */
export function storedChanges(before: unknown, after: unknown): StoredChange[] {
  return differences(before, after)
    .filter(({ field }) => !LEFT_OUT.includes(field))
    .map(inWords)
}

function inWords({ field, was, will }: Difference): StoredChange {
  if (field === 'inForceOn') return { field: 'in force on', was: '', will: auditedText(JSON.parse(will)) }
  return { field: wordsOf(field), was: shown(field, was), will: shown(field, will) }
}

const wordsOf = (field: string): string =>
  field
    .replace(/Ms$/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll('_', ' ')

const shown = (field: string, value: string): string =>
  field.endsWith('AtMs') && /^\d+$/.test(value) ? fullTime(Number(value)) : value
