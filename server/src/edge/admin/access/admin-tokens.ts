import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { Actor, AdminToken, Role, TokenStore } from '../../../quotas/ports.ts'
import type { Identity } from './roles.ts'

/** A SetToken is one that the operator set, beside those in the database. */
export interface SetToken {
  readonly role: Role
  readonly token: string
}

/** What tokens begin with, so that scanners of leaked secrets know them. */
const PREFIX = 'sluice_'
/** 256 random bits. Anything else was not made here, and the database is not asked. */
const MADE_HERE = /^sluice_[A-Za-z0-9_-]{43}$/
const SHOWN_CHARACTERS = PREFIX.length + 4

/** A NewToken is a token in clear, which is shown once, and what is kept of it. */
export interface NewToken {
  readonly token: string
  readonly kept: AdminToken
}

export interface NewTokenOptions {
  readonly name: string
  readonly role: Role
  readonly expiresAtMs?: number | undefined
}

/** newToken makes a token. What is kept of it does not lead back to it. */
export function newToken({ name, role, expiresAtMs }: NewTokenOptions, nowMs: number): NewToken {
  const token = PREFIX + randomBytes(32).toString('base64url')
  const kept: AdminToken = {
    id: randomUUID(),
    name,
    role,
    hash: digestOf(token).toString('hex'),
    prefix: token.slice(0, SHOWN_CHARACTERS),
    createdAtMs: nowMs,
    expiresAtMs,
    revokedAtMs: undefined,
    lastUsedAtMs: undefined,
  }
  return { token, kept }
}

/** firstToken makes an admin's token where there is none yet, for the service to print once. */
export async function firstToken(store: TokenStore, nowMs: number): Promise<string | undefined> {
  const { token, kept } = newToken({ name: 'first start', role: 'admin' }, nowMs)
  const by: Actor = { id: 'first-start', name: 'first start', address: undefined, reason: 'there was no token yet' }
  return (await store.createFirst(kept, by)) ? token : undefined
}

/**
 * AdminTokens knows whose a token is. Tokens are compared by their digests, in a time that tells nothing about them: to
 * find one by its digest helps nobody who does not have it.
 */
export class AdminTokens {
  readonly #set: readonly { readonly identity: Identity; readonly digest: Buffer }[]
  readonly #store: TokenStore | undefined
  readonly #nowMs: () => number

  constructor(set: readonly SetToken[], store: TokenStore | undefined, nowMs: () => number) {
    this.#set = set.map(({ role, token }, i) => ({
      identity: { id: `set-${i + 1}`, name: `SLUICE_ADMIN_TOKEN ${i + 1}`, role, via: 'token' },
      digest: digestOf(token),
    }))
    this.#store = store
    this.#nowMs = nowMs
  }

  /** hasAny says whether anybody has a token. */
  async hasAny(): Promise<boolean> {
    return this.#set.length > 0 || ((await this.#store?.hasAny()) ?? false)
  }

  /** identify returns whose a token is; undefined for one that is not good, or not good any more. */
  async identify(token: string): Promise<Identity | undefined> {
    const digest = digestOf(token)
    // All are compared, so that the time does not tell which one it was.
    const [found] = this.#set.filter((each) => timingSafeEqual(each.digest, digest))
    if (found !== undefined) return found.identity
    if (this.#store === undefined || !MADE_HERE.test(token)) return undefined
    const kept = await this.#store.find(digest.toString('hex'))
    if (kept === undefined || !isSame(kept.hash, digest)) return undefined
    return this.#use(kept)
  }

  /** again returns whose token an id is, for a session that began with it. */
  async again(id: string): Promise<Identity | undefined> {
    const found = this.#set.find(({ identity }) => identity.id === id)
    if (found !== undefined) return found.identity
    const kept = await this.#store?.get(id)
    return kept && this.#use(kept)
  }

  #use({ id, name, role, revokedAtMs, expiresAtMs = Number.POSITIVE_INFINITY }: AdminToken): Identity | undefined {
    const nowMs = this.#nowMs()
    if (revokedAtMs !== undefined || expiresAtMs <= nowMs) return undefined
    this.#store?.used(id, nowMs)
    return { id, name, role, via: 'token' }
  }
}

function isSame(hash: string, digest: Buffer): boolean {
  const kept = Buffer.from(hash, 'hex')
  return kept.length === digest.length && timingSafeEqual(kept, digest)
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
