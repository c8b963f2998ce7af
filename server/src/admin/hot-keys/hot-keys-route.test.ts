import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describe, expect, it, onTestFinished } from 'vitest'
import { mapTallies, type RuleReport } from '../../observe/hot-keys/hot-keys-report.ts'
import type { Counted } from '../../observe/hot-keys/key-tally.ts'
import { adminServer } from '../admin-server.ts'
import type { HotKeysScope } from './hot-keys-route.ts'

function ruleOf(rule: string, refused: Counted[], active: Counted[]): RuleReport {
  const listOf = (keys: Counted[]) => ({
    total: keys.reduce((sum, [, count]) => sum + count, 0),
    missed: 1,
    tracked: keys.length,
    keys,
  })
  const windows = mapTallies((minutes, ranking) =>
    listOf(minutes === 60 ? [] : ranking === 'active' ? active : refused),
  )
  return { domain: rule === 'user' ? 'api' : 'shop', rule, isShadow: rule === 'ip', exhausted: 1, windows }
}

const REPORT = {
  rules: [
    ruleOf('ip', [['ip=a', 2]], [['ip=a', 9]]),
    ruleOf(
      'user',
      [
        ['user=x', 3],
        ['user=y', 1],
      ],
      [['user=x', 4]],
    ),
  ],
  rulesLeftOut: 0,
}

interface Body {
  readonly keys: readonly { readonly key: string }[]
  readonly code?: string
  readonly detail?: string
}

/** asked asks a server, and returns the status and the answer. */
async function asked(query: string) {
  const hotKeys = (scope: HotKeysScope) => ({ report: REPORT, scope, nodes: 2, nodesLeftOut: 0 })
  const server = adminServer({ rules: () => compileObjects([]), stats: () => [], hotKeys })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/admin/v1/hot-keys${query}`)
  return { status: answer.status, body: (await answer.json()) as Body }
}

describe('GET /admin/v1/hot-keys', () => {
  it('lists the keys that were refused most in the last five minutes, unless asked otherwise', async () => {
    expect(await asked('')).toEqual({
      status: 200,
      body: {
        by: 'refused',
        minutes: 5,
        scope: 'node',
        nodes: 2,
        nodesLeftOut: 0,
        rulesLeftOut: 0,
        rules: [
          { domain: 'api', rule: 'user', shadow: false, requests: 4, refused: 4, exhausted: 1 },
          { domain: 'shop', rule: 'ip', shadow: true, requests: 9, refused: 2, exhausted: 1 },
        ],
        keys: [
          { domain: 'api', rule: 'user', shadow: false, key: 'user=x', count: 3, missed: 1, share: 0.75 },
          { domain: 'shop', rule: 'ip', shadow: true, key: 'ip=a', count: 2, missed: 1, share: 1 },
          { domain: 'api', rule: 'user', shadow: false, key: 'user=y', count: 1, missed: 1, share: 0.25 },
        ],
      },
    })
  })

  it.each([
    ['?by=active', ['ip=a', 'user=x']],
    ['?limit=1', ['user=x']],
    ['?domain=shop', ['ip=a']],
    ['?rule=user&scope=fleet', ['user=x', 'user=y']],
    ['?minutes=60', []],
  ])('answers %s', async (query, keys) => {
    const { body } = await asked(query)
    expect(body.keys.map(({ key }) => key)).toEqual(keys)
  })

  it.each([
    '?by=name',
    '?minutes=2',
    '?minutes=',
    '?limit=0',
    '?limit=201',
    '?limit=1e2',
    '?scope=all',
    '?colour=red',
    '?by=active&by=refused',
  ])('states the rule when it is asked for something else: %s', async (query) => {
    const { status, body } = await asked(query)
    expect(status).toBe(400)
    expect(body.code).toBe('HOT_KEYS_QUERY_INVALID')
    expect(body.detail).toContain('minutes=1, 5, 60 or 1440')
  })
})
