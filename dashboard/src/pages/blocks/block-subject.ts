import type { Block, NewBlock } from '../../api/operations.ts'
import type { Typed } from '../../kit/fields.ts'

/** The kinds of callers that a block refuses, each with the field of the form that names it. */
export const KINDS = { customer: 'customer_id', key: 'api_key', cidr: 'cidr' } as const
export type Kind = keyof typeof KINDS

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** typedFor fills the form as an address asks: customer:ID, key:ID or cidr:RANGE. */
export function typedFor(asked: string): Typed {
  const [, kind = 'customer', who = ''] = /^(customer|key|cidr):(.*)$/s.exec(asked) ?? []
  return { kind, [KINDS[kind as Kind]]: who }
}

/** typedAgain fills the form with a block that has ended. */
export function typedAgain({ customer_id, api_key_id, cidr, status, body }: Block): Typed {
  const kind = customer_id !== null ? 'customer' : api_key_id !== null ? 'key' : 'cidr'
  return { kind, [KINDS[kind]]: customer_id ?? api_key_id ?? cidr ?? '', status: String(status), body: body ?? '' }
}

/** blockBody is what is sent: a key may be given by its id, and an address is a range of one. */
export function blockBody({ api_key, cidr, ...rest }: NewBlock): NewBlock {
  return {
    ...rest,
    ...(api_key && (UUID.test(api_key) ? { api_key_id: api_key } : { api_key })),
    ...(cidr && { cidr: cidr.includes('/') ? cidr : `${cidr}/${cidr.includes(':') ? 128 : 32}` }),
  }
}

/** stateOf returns whether a block refuses now, later, or no longer. */
export function stateOf({ effective_at, expires_at }: Block, nowMs = Date.now()): 'now' | 'later' | 'over' {
  if (expires_at !== null && Date.parse(expires_at) <= nowMs) return 'over'
  return Date.parse(effective_at) > nowMs ? 'later' : 'now'
}

/** whoText names who is blocked in a sentence. */
export function whoText({ customer_id, api_key_id, cidr }: Block): string {
  if (customer_id !== null) return customer_id
  return api_key_id === null ? (cidr ?? '') : `key ${api_key_id.slice(0, 8)}`
}
