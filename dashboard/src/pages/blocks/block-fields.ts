import type { Block, NewBlock } from '../../api/operations.ts'
import { type Until, untilTime } from '../../format/until.ts'

export type Kind = 'customer' | 'key' | 'cidr'

/** BlockFields are what the form holds. */
export interface BlockFields {
  readonly kind: Kind
  readonly who: string
  readonly until: Until
  readonly endsAt: string
  readonly status: string
  readonly body: string
  readonly reason: string
}

/** Faults are what is wrong with fields, before the server is asked. */
export type Faults = Readonly<Partial<Record<'who' | 'endsAt' | 'status', string>>>

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** fieldsAsked reads who is to be blocked from an address: customer:ID, key:ID or cidr:RANGE. */
export function fieldsAsked(asked: string): BlockFields {
  const [, kind = 'customer', who = ''] = /^(customer|key|cidr):(.*)$/s.exec(asked) ?? []
  return { kind: kind as Kind, who, until: 'day', endsAt: '', status: '403', body: '', reason: '' }
}

/** fieldsOf fills the form with a block that was, to block again. */
export function fieldsOf(block: Block): BlockFields {
  const { customer_id, api_key_id, cidr, status, body, reason } = block
  return {
    kind: customer_id !== null ? 'customer' : api_key_id !== null ? 'key' : 'cidr',
    who: customer_id ?? api_key_id ?? cidr ?? '',
    until: 'day',
    endsAt: '',
    status: String(status),
    body: body ?? '',
    reason: reason ?? '',
  }
}

/** newBlock is what is sent, or what is wrong. */
export function newBlock(fields: BlockFields, nowMs = Date.now()): { readonly body: NewBlock } | { faults: Faults } {
  const { kind, who, until, endsAt, status, body, reason } = fields
  const expires_at = untilTime(until, endsAt, nowMs)
  const code = Number(status)
  const faults: Faults = {
    ...(who.trim() === '' && { who: MISSING[kind] }),
    ...(expires_at === undefined && { endsAt: 'Choose a time that is still to come.' }),
    ...(!(Number.isInteger(code) && code >= 400 && code <= 599) && { status: 'A status is 400 to 599.' }),
  }
  if (Object.keys(faults).length > 0) return { faults }
  return {
    body: {
      ...subjectOf(kind, who.trim()),
      status: code,
      ...(body.trim() !== '' && { body }),
      ...(reason.trim() !== '' && { reason: reason.trim() }),
      ...(expires_at && { expires_at }),
    },
  }
}

const MISSING: Readonly<Record<Kind, string>> = {
  customer: 'Name a customer by its id.',
  key: 'Give a key, or the id of one.',
  cidr: 'Give an address, or a range such as 198.51.100.0/24.',
}

function subjectOf(kind: Kind, who: string): NewBlock {
  if (kind === 'customer') return { customer_id: who }
  if (kind === 'key') return UUID.test(who) ? { api_key_id: who } : { api_key: who }
  if (who.includes('/')) return { cidr: who }
  return { cidr: `${who}/${who.includes(':') ? 128 : 32}` }
}

/** sameAgain is what makes a removed block anew, with the same end. */
export function sameAgain(block: Block, nowMs = Date.now()): NewBlock {
  const { customer_id, api_key_id, cidr, status, body, reason, effective_at, expires_at } = block
  return {
    ...(customer_id !== null && { customer_id }),
    ...(api_key_id !== null && { api_key_id }),
    ...(cidr !== null && { cidr }),
    status,
    ...(body !== null && { body }),
    ...(reason !== null && { reason }),
    ...(Date.parse(effective_at) > nowMs && { effective_at }),
    ...(expires_at !== null && { expires_at }),
  }
}

/** stateOf says whether a block refuses now, later, or not any more. */
export function stateOf({ effective_at, expires_at }: Block, nowMs = Date.now()): 'now' | 'later' | 'over' {
  if (expires_at !== null && Date.parse(expires_at) <= nowMs) return 'over'
  return Date.parse(effective_at) > nowMs ? 'later' : 'now'
}

/** whoText names who is blocked in a sentence. */
export function whoText({ customer_id, api_key_id, cidr }: Block): string {
  if (customer_id !== null) return customer_id
  return api_key_id === null ? (cidr ?? '') : `key ${api_key_id.slice(0, 8)}`
}
