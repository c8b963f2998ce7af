import { describe, expect, it } from 'vitest'
import { startAdmin } from '../admin-kit.suite.ts'

interface Tier {
  readonly name: string
  readonly is_stored: boolean
  readonly limits: readonly { readonly described: string }[]
  readonly below: readonly { readonly id: string }[]
}

async function inForce(ask: Awaited<ReturnType<typeof startAdmin>>['ask']) {
  const { tiers } = (await ask('GET', 'tiers/in-force')).json as unknown as { readonly tiers: readonly Tier[] }
  return tiers.map(({ name, is_stored, limits, below }) => [
    name,
    is_stored,
    limits.map(({ described }) => described).join(),
    below.map(({ id }) => id).join(),
  ])
}

describe('tiers in force', () => {
  const FILE = ['enterprise', false, '5000 per 1m, sliding_window', '']

  it('come from rule files', async () => {
    const { ask } = await startAdmin()
    expect(await inForce(ask)).toEqual([FILE])
  })

  it('come from the API in their place, and in addition to them', async () => {
    const { ask } = await startAdmin()
    const text =
      'rate_limit: {unit: hour, requests_per_unit: 7}\ndescriptors: [{key: path, rate_limit: {unit: day, requests_per_unit: 1}}]'
    for (const name of ['enterprise', 'gold']) await ask('PUT', `tiers/shop/${name}`, { body: { limits: text } })
    expect(await inForce(ask)).toEqual([
      ['enterprise', true, '7 per 1h, sliding_window', 'api_key/path'],
      ['gold', true, '7 per 1h, sliding_window', 'api_key/path'],
    ])
    await ask('DELETE', 'tiers/shop/enterprise', { headers: { 'if-match': '*' } })
    expect((await inForce(ask)).toSorted()).toEqual([FILE, ['gold', true, '7 per 1h, sliding_window', 'api_key/path']])
  })
})
