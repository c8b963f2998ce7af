import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { checkWebhookSecret, newWebhookSecret, signWebhook, webhookHeaders } from './signature.ts'

// The example of the Standard Webhooks specification.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const MESSAGE = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampS: 1_614_265_330, body: '{"test": 2432232314}' }
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

describe('signWebhook', () => {
  it('signs as the specification says', () => {
    expect(signWebhook(MESSAGE, [SECRET])).toBe(SIGNATURE)
  })

  it('signs with every secret, the first first', () => {
    const other = newWebhookSecret()
    const key = Buffer.from(other.slice('whsec_'.length), 'base64')
    const text = `${MESSAGE.id}.${MESSAGE.timestampS}.${MESSAGE.body}`
    const expected = `v1,${createHmac('sha256', key).update(text).digest('base64')}`
    expect(signWebhook(MESSAGE, [other, SECRET])).toBe(`${expected} ${SIGNATURE}`)
  })

  it('names id, time and signature in fields', () => {
    expect(webhookHeaders(MESSAGE, [SECRET])).toEqual({
      'content-type': 'application/json',
      'webhook-id': MESSAGE.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': SIGNATURE,
    })
  })
})

describe('a secret', () => {
  it('is made so that it can sign', () => {
    expect(() => checkWebhookSecret(newWebhookSecret())).not.toThrow()
    expect(newWebhookSecret()).not.toBe(newWebhookSecret())
  })

  it.each([
    ['without its prefix', SECRET.slice('whsec_'.length)],
    ['of 23 bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['of 65 bytes', `whsec_${Buffer.alloc(65).toString('base64')}`],
    ['that is not base64', 'whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!'],
    ['that is empty', ''],
  ])('%s is refused, and not repeated', (_, secret) => {
    expect(() => checkWebhookSecret(secret)).toThrow(
      'WEBHOOK_SECRET_INVALID: secret: the secret that was given is not one. A webhook secret must be whsec_ followed by 24 to 64 bytes in base64.',
    )
  })
})
