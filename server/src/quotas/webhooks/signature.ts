import { createHmac, randomBytes } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'

const PREFIX = 'whsec_'
const FEWEST_BYTES = 24
const MOST_BYTES = 64

/** Makes a secret in the format of Standard Webhooks. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(32).toString('base64')
}

/** Throws unless a secret can sign. The error does not contain it. */
export function checkWebhookSecret(secret: string): void {
  bytesOf(secret)
}

/** A WebhookMessage is one attempt to deliver: `id` is the same at each of them. */
export interface WebhookMessage {
  readonly id: string
  readonly timestampS: number
  readonly body: string
}

/** Signs a message with every secret, the newest first, so that receivers can change theirs without a gap. */
export function signWebhook({ id, timestampS, body }: WebhookMessage, secrets: readonly string[]): string {
  const text = `${id}.${timestampS}.${body}`
  return secrets.map((secret) => `v1,${createHmac('sha256', bytesOf(secret)).update(text).digest('base64')}`).join(' ')
}

/** Returns the headers that a receiver verifies. */
export function webhookHeaders(message: WebhookMessage, secrets: readonly string[]): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestampS),
    'webhook-signature': signWebhook(message, secrets),
  }
}

function bytesOf(secret: string): Buffer {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : ''
  const bytes = Buffer.from(text, 'base64')
  const isBase64 = bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  if (!isBase64 || bytes.length < FEWEST_BYTES || bytes.length > MOST_BYTES) {
    throw new SluiceError('WEBHOOK_SECRET_INVALID', 'secret', 'the secret that was given is not one')
  }
  return bytes
}
