import { describe, expect, it } from 'vitest'
import { newWebhookSecret } from '../../quotas/webhooks/signature.ts'
import { startAdmin } from '../admin-kit.suite.ts'

const URL = 'https://example.com/hook'

describe('webhooks of the admin API', () => {
  it('show a secret once, when it is made', async () => {
    const { ask } = await startAdmin()
    const made = await ask('POST', 'webhooks', { body: { url: URL } })
    expect([made.status, made.json.secret]).toEqual([201, expect.stringMatching(/^whsec_/)])
    expect(made.json).toMatchObject({
      url: URL,
      events: ['quota.threshold', 'ledger.balance_low'],
      thresholds: [50, 80, 100],
      enabled: true,
    })
    for (const path of ['webhooks', `webhooks/${made.json.id}`, 'audit']) {
      const { status, text } = await ask('GET', path, { as: 'viewer' })
      expect([status, text.includes(String(made.json.secret))]).toEqual([200, false])
    }
  })

  it('take a secret that is given, and refuse one that cannot sign without repeating it', async () => {
    const { ask, webhooks } = await startAdmin()
    const secret = newWebhookSecret()
    expect((await ask('POST', 'webhooks', { body: { url: URL, secret } })).json.secret).toBe(secret)
    const refused = await ask('POST', 'webhooks', { body: { url: URL, secret: 'whsec_hunter2' } })
    expect([refused.status, refused.json.code, refused.text.includes('hunter2')]).toEqual([
      400,
      'WEBHOOK_SECRET_INVALID',
      false,
    ])
    expect((await webhooks.list({ limit: 9 })).items).toHaveLength(1)
  })

  it.each(['http://example.com/', 'https://127.0.0.1/', 'https://10.0.0.1/', 'https://u:p@example.com/', 'nonsense'])(
    'refuse %s',
    async (url) => {
      const { ask } = await startAdmin()
      const refused = await ask('POST', 'webhooks', { body: { url } })
      expect([refused.status, refused.json.code]).toEqual([400, 'WEBHOOK_URL_INVALID'])
    },
  )

  it('are changed by admins only, in the version that they have seen', async () => {
    const { ask } = await startAdmin()
    const { json } = await ask('POST', 'webhooks', { body: { url: URL, customer_id: 'acme', thresholds: [100] } })
    const path = `webhooks/${json.id}`
    const change = (version: string, as: 'admin' | 'operator' = 'admin') =>
      ask('PATCH', path, { body: { enabled: false, customer_id: null }, headers: { 'if-match': version }, as })
    expect((await change('"1"', 'operator')).status).toBe(403)
    expect((await change('"7"')).status).toBe(412)
    const changed = await change('"1"')
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2"'])
    expect(changed.json).toMatchObject({ enabled: false, customer_id: null, thresholds: [100], url: URL })
    expect((await ask('POST', 'webhooks', { body: { url: URL }, as: 'operator' })).status).toBe(403)
  })

  it('are only checked by a dry run, which shows no secret', async () => {
    const { ask, webhooks } = await startAdmin()
    const { status, json, text } = await ask('POST', 'webhooks?dry_run=true', { body: { url: URL } })
    const { items } = await webhooks.list({ limit: 9 })
    expect([status, json.changes, text.includes('whsec_'), items.length]).toMatchObject([
      200,
      [{ kind: 'webhook', before: null, after: { url: URL } }],
      false,
      0,
    ])
  })

  it('are tested and sent again by operators, and their deliveries are listed', async () => {
    const { ask } = await startAdmin()
    const { json } = await ask('POST', 'webhooks', { body: { url: URL } })
    const sent = await ask('POST', `webhooks/${json.id}/test`, { as: 'operator' })
    expect([sent.status, sent.json.state]).toEqual([201, 'waiting'])
    const listed = await ask('GET', `webhooks/${json.id}/deliveries`, { as: 'viewer' })
    expect(listed.json.items).toMatchObject([{ event: 'webhook.test', message: { type: 'webhook.test' } }])
    const again = (id: unknown) => ask('POST', `webhooks/${json.id}/deliveries/${id}/redeliver`, { as: 'operator' })
    expect([(await again(sent.json.id)).status, (await again('msg_none')).status]).toEqual([200, 404])
    expect((await ask('GET', 'webhooks/nobody/deliveries')).status).toBe(404)
  })
})
