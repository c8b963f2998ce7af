import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { TokenStore } from '../../quotas/tables/token-store.ts'
import type { AdminToken, Role } from '../tokens/table.ts'
import type { Identity } from './roles.ts'

/** The tokens of the database, as far as requests are admitted by them. */
export type Tokens = Pick<TokenStore, 'get' | 'find' | 'used' | 'hasAny'>

/** A token that the operator set, in addition to the ones in the database. */
export interface SetToken {
  readonly role: Role
  readonly token: string
}

/** What tokens begin with, so that scanners of leaked secrets know them. */
const PREFIX = 'sluice_'
/** 256 random bits. Anything else was not made here, and the database is not asked. */
const MADE_HERE = /^sluice_[A-Za-z0-9_-]{43}$/
const SHOWN_CHARACTERS = PREFIX.length + 4
/** Tokens that were good and are remembered; beyond this, the one remembered for longest is forgotten. */
const MAX_GOOD = 1_000

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

/**
 * Knows whose a token is. Tokens are compared by their digests, in a time that reveals nothing about them: finding one
 * by its digest helps no one who does not have it.
 */
export class AdminTokens {
  readonly #set: readonly { readonly identity: Identity; readonly digest: Buffer }[]
  readonly #store: Tokens | undefined
  readonly #nowMs: () => number
  /** The digests of tokens that were good when they were last shown. */
  readonly #good = new Set<string>()

  constructor(set: readonly SetToken[], store: Tokens | undefined, nowMs: () => number) {
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

  /** Returns whose a token is; undefined for a wrong one, and for one that has expired or was revoked. */
  async identify(token: string): Promise<Identity | undefined> {
    const digest = digestOf(token)
    const set = this.#setBy(digest)
    if (set !== undefined) return set
    if (this.#store === undefined || !MADE_HERE.test(token)) return undefined
    const hash = digest.toString('hex')
    const kept = await this.#store.find(hash)
    const identity = kept !== undefined && isSame(kept.hash, digest) ? this.#use(kept) : undefined
    this.#remember(hash, identity !== undefined)
    return identity
  }

  /** Says whether a token was good when it was last shown to this process, without asking the store. */
  wasGood(token: string): boolean {
    const digest = digestOf(token)
    return this.#setBy(digest) !== undefined || this.#good.has(digest.toString('hex'))
  }

  #setBy(digest: Buffer): Identity | undefined {
    // All are compared, so that the time does not reveal which one it was.
    return this.#set.filter((each) => timingSafeEqual(each.digest, digest))[0]?.identity
  }

  #remember(hash: string, isGood: boolean): void {
    if (!isGood) {
      this.#good.delete(hash)
      return
    }
    if (this.#good.size >= MAX_GOOD && !this.#good.has(hash))
      this.#good.delete(this.#good.values().next().value as string)
    this.#good.add(hash)
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
