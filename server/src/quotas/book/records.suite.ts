import { createHash } from 'node:crypto'
import type { Decision } from 'sluice/internal/core/combine'
import type { CheckRequest, Entry } from 'sluice/internal/core/request'
import { blocks } from '../../admin/blocks/table.ts'
import { customers } from '../../admin/customers/table.ts'
import { grants } from '../../admin/grants/table.ts'
import { api_keys } from '../../admin/keys/table.ts'
import { overrides } from '../../admin/overrides/table.ts'
import { switches } from '../../admin/switches/table.ts'
import { tiers } from '../../admin/tiers/table.ts'
import type {
  ApiKey,
  Block,
  Customer,
  Grant,
  Override,
  QuotaRecords,
  QuotaTable,
  RuleSwitch,
  StoredTier,
  Subject,
} from '../model.ts'
import { QuotaBook } from './quota-book.ts'
import { recordId } from './quota-parts.ts'

export const START_MS = 1_780_000_000_000

/** Stands for the keyed hash of the service. */
export const hash = (key: string): string => createHash('sha256').update(key).digest('hex')

// Samples are made by the tables, so that a new field needs no sample.
const making = (id: string) => ({ id, nowMs: 0 })

export function customer(id: string, changes: Partial<Customer> = {}): Customer {
  return { ...customers.made({}, making(id), { id }), version: 1, ...changes }
}

/** Returns an API key whose value is its id with `-secret` behind it. */
export function key(id: string, customerId: string | undefined, changes: Partial<ApiKey> = {}): ApiKey {
  const own = { id, hash: hash(`${id}-secret`), prefix: id.slice(0, 4), customerId }
  return { ...api_keys.made({}, making(id), own), version: 1, ...changes }
}

export const ofCustomer = (customerId: string): Subject => ({ kind: 'customer', customerId })
export const ofKey = (keyId: string): Subject => ({ kind: 'key', keyId })

export function override(
  id: string,
  subject: Subject,
  requestsPerUnit: number,
  changes: Partial<Override> = {},
): Override {
  const given = { requests_per_unit: requestsPerUnit, unit: 'minute' }
  return { ...overrides.made(given, making(id), { id, subject }), version: 1, ...changes }
}

export function grant(id: string, customerId: string, amount: number, changes: Partial<Grant> = {}): Grant {
  return { ...grants.made({ amount }, making(id), { id, customerId }), version: 1, ...changes }
}

export function block(id: string, subject: Block['subject'], changes: Partial<Block> = {}): Block {
  return { ...blocks.made({}, making(id), { id, subject }), version: 1, ...changes }
}

export function tier(domain: string, name: string, limits: unknown): StoredTier {
  return { ...tiers.made({ limits }, making(''), { domain, name }), version: 1 }
}

export function ruleSwitch(rule: RuleSwitch['rule'], mode: RuleSwitch['mode']): RuleSwitch {
  return { ...switches.made({ mode }, making(''), { rule }), version: 1 }
}

export type Records = { readonly [T in QuotaTable]?: readonly QuotaRecords[T][] }

/** Returns a book of records, with its clock. */
export function bookOf(records: Records) {
  const clock = { nowMs: () => time.nowMs }
  const time = { nowMs: START_MS }
  const book = new QuotaBook({ hash, clock })
  const put = (more: Records): void => {
    for (const [table, list] of Object.entries(more)) {
      for (const record of list) book.put(table as QuotaTable, recordId(table as QuotaTable, record), record)
    }
  }
  put(records)
  return { book, put, time, clock }
}

/** Reads `api_key=k endpoint=POST /x`, separated by two spaces or by one before `key=`. */
export function entriesOf(text: string): Entry[] {
  return text.split(/ (?=[\w-]+=)/).map((part) => {
    const at = part.indexOf('=')
    return { key: part.slice(0, at), value: part.slice(at + 1) }
  })
}

/** Builds a request from descriptors. */
export function ask(descriptors: string | readonly string[], cost?: number, domain = 'api'): CheckRequest {
  const list = typeof descriptors === 'string' ? [descriptors] : descriptors
  return {
    domain,
    descriptors: list.map((each) => ({ entries: entriesOf(each) })),
    ...(cost !== undefined && { cost }),
  }
}

/** Lists what every rule said: `name limit/remaining kind`. */
export const standings = ({ verdicts }: Decision): string[] =>
  verdicts.map(({ rule, verdict }) => `${rule.name} ${verdict.remaining}/${verdict.limit} ${verdict.kind}`)
