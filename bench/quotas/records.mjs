import { randomUUID } from 'node:crypto'
import { QUOTA_TABLES } from '../../server/dist/records/tables.js'

/** snapshotOf is so many customers with a key and an override each. Keys are `sk_live_` and a number of 24 digits. */
export function snapshotOf(count, hash) {
  const ids = Array.from({ length: count }, (_, i) => i)
  const times = { version: 1, createdAtMs: 1_780_000_000_000, updatedAtMs: 1_780_000_000_000 }
  const always = { effectiveAtMs: 0, expiresAtMs: undefined }
  const keys = ids.map(() => randomUUID())
  return {
    ...Object.fromEntries(QUOTA_TABLES.map((table) => [table, []])),
    customers: ids.map((i) => ({
      id: `customer-${i}`,
      name: `Customer number ${i}`,
      tier: i % 3 === 0 ? 'pro' : 'free',
      status: 'active',
      timeZone: 'Europe/Berlin',
      periodAnchor: undefined,
      metadata: { billing_id: `cus_${i}`, contact: `sales-${i % 50}@example.com` },
      ...times,
    })),
    api_keys: ids.map((i) => ({
      id: keys[i],
      hash: hash(keyOf(i)),
      prefix: 'sk_live_',
      customerId: `customer-${i}`,
      name: 'production',
      tier: undefined,
      revokedAtMs: undefined,
      ...times,
    })),
    overrides: ids.map((i) => ({
      id: randomUUID(),
      subject: i % 2 === 0 ? { kind: 'key', keyId: keys[i] } : { kind: 'customer', customerId: `customer-${i}` },
      descriptor: i % 4 === 0 ? 'endpoint:POST /api/v1/orders' : 'default',
      requestsPerUnit: 1_000_000 + (i % 100),
      unit: 'minute',
      algorithm: undefined,
      burst: undefined,
      reason: 'raised during a call',
      ticket: `T-${i}`,
      ...always,
      ...times,
    })),
    revision: 1,
  }
}

export const keyOf = (i) => `sk_live_${String(i).padStart(24, '0')}`
