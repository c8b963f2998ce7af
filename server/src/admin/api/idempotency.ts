import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import type { IdempotencyStore, KeptAnswer } from '../../quotas/tables/idempotency-keys.ts'

/** A WrittenAnswer is an answer as it was sent. */
export interface WrittenAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/
const PRINTABLE = /^[\x20-\x7e]{1,255}$/

/** keyOf reads an Idempotency-Key header: quoted, as the draft has it, or bare, as most send it. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = Array.isArray(header) ? header.join(', ') : header.trim()
  const key = QUOTED.exec(text)?.[1] ?? text
  if (!PRINTABLE.test(key))
    throw new SluiceError('IDEMPOTENCY_KEY_INVALID', 'idempotency-key', 'empty, too long or not printable')
  return key
}

/** IdempotentRequest is whose request it is, under which key, and what it asks. */
export interface IdempotentRequest {
  readonly owner: string
  readonly key: string
  readonly path: string
  readonly body: string
}

/**
 * answeredOnce answers a request under a key once: a repetition gets the answer of the first. Answers may show a secret that is
 * kept nowhere else, such as a new API key; so they are sealed with the client's own key, of which the store has a hash only.
 * What fails on our side is not kept.
 */
export async function answeredOnce(
  store: IdempotencyStore,
  request: IdempotentRequest,
  answer: () => Promise<WrittenAnswer>,
): Promise<WrittenAnswer & { readonly isRepeated: boolean }> {
  const id = hashOf('id', request.owner, request.key)
  const fingerprint = hashOf('request', request.path, request.body)
  const kept = await store.claim(id, request.owner, fingerprint)
  if (kept !== undefined) return { ...again(kept, fingerprint, request), isRepeated: true }
  try {
    const written = await store.fill(id, answer, (result) => seal(request, JSON.stringify(result)))
    return { ...written, isRepeated: false }
  } catch (error) {
    await store.free(id)
    throw error
  }
}

function again(kept: KeptAnswer, fingerprint: string, request: IdempotentRequest): WrittenAnswer {
  if (kept.fingerprint !== fingerprint) {
    throw new SluiceError('IDEMPOTENCY_KEY_REUSED', 'idempotency-key', 'it came with another request before')
  }
  if (kept.sealed === undefined) {
    throw new SluiceError('IDEMPOTENCY_IN_PROGRESS', 'idempotency-key', 'the first request is in flight')
  }
  return JSON.parse(unseal(request, kept.sealed)) as WrittenAnswer
}

function hashOf(...parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('hex')
}

const [IV_BYTES, TAG_BYTES] = [12, 16]

function sealKey({ owner, key }: IdempotentRequest): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, owner, 'sluice idempotent answer', 32))
}

function seal(request: IdempotentRequest, text: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', sealKey(request), iv)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
}

function unseal(request: IdempotentRequest, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64')
  const cipher = createDecipheriv('aes-256-gcm', sealKey(request), bytes.subarray(0, IV_BYTES))
  cipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  return Buffer.concat([cipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), cipher.final()]).toString('utf8')
}
