import { describe, expect, it } from 'vitest'
import type { ask } from '../api/client.ts'
import type { Block, Customer, Grant, Override } from '../api/operations.ts'
import { formerFields, undoBy } from './undo.ts'

type Asked = Readonly<Record<'params' | 'body' | 'version' | 'reason', unknown>>

/** recorded is an undo that keeps what it asks for. */
function recorded() {
  const asked: [operation: string, asked: Partial<Asked>][] = []
  const record = async (operation: string, given: Partial<Asked>) => {
    asked.push([operation, given])
    return { body: undefined, version: undefined }
  }
  return { asked, undo: undoBy(record as unknown as typeof ask) }
}

const SPAN = { effective_at: '2026-01-01T00:00:00.000Z', expires_at: '2026-02-01T00:00:00.000Z' }
const customer: Customer = {
  ...{ id: 'acme', name: 'Acme', tier: 'pro', status: 'active', time_zone: 'UTC', period_anchor: null },
  ...{ metadata: { a: 'b' }, version: 4, created_at: '', updated_at: '' },
}
const override: Override = {
  ...{ id: 'o1', customer_id: 'acme', api_key_id: null, descriptor: 'default', requests_per_unit: 900, unit: 'minute' },
  ...{ problem: null, domain: 'shop', rule: 'api_key' },
  ...{ algorithm: null, burst: null, reason: 'launch', ticket: 'SUP-1', version: 7, created_at: '', updated_at: '' },
  ...SPAN,
}
const grant: Grant = {
  ...{ id: 'g1', customer_id: 'acme', descriptor: 'default', amount: 500, reason: null, ticket: null },
  ...{ version: 8, created_at: '' },
  ...SPAN,
}
const block: Block = {
  ...{ id: 'b1', customer_id: 'acme', api_key_id: null, cidr: null, reason: 'abuse', status: 403, body: 'no' },
  ...{ version: 9, created_at: '' },
  ...SPAN,
}

describe('what was created is removed, at the version that was created', () => {
  it.each([
    ['an override', 'removeOverride', { customer_id: 'acme', override_id: 'o1' }, 7],
    ['a grant', 'removeGrant', { customer_id: 'acme', grant_id: 'g1' }, 8],
    ['a block', 'removeBlock', { block_id: 'b1' }, 9],
    ['a customer', 'removeCustomer', { customer_id: 'acme' }, 4],
    ['a key', 'revokeKey', { customer_id: 'acme', key_id: 'k1' }, 2],
  ])('%s', async (what, operation, params, version) => {
    const { asked, undo } = recorded()
    const key = { id: 'k1', version: 2 } as Parameters<typeof undo.keyAdded>[1]
    const steps: Record<string, () => Promise<unknown>> = {
      'an override': () => undo.overrideCreated('acme', override),
      'a grant': () => undo.grantCreated('acme', grant),
      'a block': () => undo.blockCreated(block),
      'a customer': () => undo.customerCreated(customer),
      'a key': () => undo.keyAdded('acme', key),
    }
    await steps[what]?.()
    expect(asked).toEqual([[operation, { params, version, reason: 'undone in the dashboard' }]])
  })
})

describe('what was removed is created again', () => {
  it('an override has the same limit, span, ticket and reason', async () => {
    const { asked, undo } = recorded()
    await undo.overrideRemoved('acme', { ...override, api_key_id: 'k1' })
    const { id: _, customer_id: __, version: ___, created_at, updated_at, problem, ...fields } = override
    expect(asked).toEqual([
      [
        'createOverride',
        {
          params: { customer_id: 'acme' },
          body: { ...fields, api_key_id: 'k1', all: true, allow_lower: true },
          reason: 'undone in the dashboard',
        },
      ],
    ])
  })

  it('a grant has what was left of it, and never more than it was', async () => {
    const { asked, undo } = recorded()
    await undo.grantRemoved('acme', grant, 120)
    await undo.grantRemoved('acme', grant, 9_000)
    expect(asked.map(([, { body }]) => (body as Grant).amount)).toEqual([120, 500])
    expect(asked[0]?.[1].body).toMatchObject({ descriptor: 'default', ...SPAN })
  })

  it('a block refuses the same, in the same way', async () => {
    const { asked, undo } = recorded()
    await undo.blockRemoved(block)
    expect(asked[0]?.[1].body).toMatchObject({ customer_id: 'acme', status: 403, body: 'no', reason: 'abuse', ...SPAN })
  })

  it('a customer comes back before what belongs to it, without what belonged to keys', async () => {
    const { asked, undo } = recorded()
    const overrides = [override, { ...override, id: 'o2', api_key_id: 'k1' }]
    await undo.customerRemoved(customer, { overrides, grants: [grant, { ...grant, amount: 0 }], blocks: [block] })
    expect(asked.map(([operation]) => operation)).toEqual([
      'createCustomer',
      'createOverride',
      'createGrant',
      'createBlock',
    ])
    expect(asked[0]?.[1].body).toMatchObject({ id: 'acme', tier: 'pro', metadata: { a: 'b' } })
  })
})

describe('what was changed is put back', () => {
  it('with the version that the change made, and only the fields that it changed', async () => {
    const { asked, undo } = recorded()
    await undo.customerChanged(customer, { ...customer, tier: 'free', version: 5 })
    expect(asked).toEqual([
      [
        'changeCustomer',
        {
          params: { customer_id: 'acme' },
          body: { tier: 'pro' },
          version: 5,
          reason: 'undone in the dashboard',
        },
      ],
    ])
  })

  it('a value that was not there is taken away', () => {
    const after: Customer = { ...customer, tier: 'pro', period_anchor: '2026-01-01', metadata: {} }
    expect(formerFields('changeCustomer', { ...customer, tier: null }, after)).toEqual({
      ...{ tier: null, period_anchor: null, metadata: { a: 'b' } },
    })
  })
})

it('a change of a webhook has only what differs', () => {
  const hook = { url: 'https://a.example/x', description: '', customer_id: null, thresholds: [80, 100], enabled: true }
  const typed = { ...hook, customer_id: 'acme', thresholds: [90] }
  expect(formerFields('changeWebhook', typed, hook)).toEqual({ customer_id: 'acme', thresholds: [90] })
  expect(formerFields('changeWebhook', hook, typed)).toEqual({ customer_id: null, thresholds: [80, 100] })
  expect(formerFields('changeWebhook', hook, hook)).toEqual({})
})
