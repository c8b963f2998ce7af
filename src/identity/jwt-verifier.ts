import { createHmac, createPublicKey, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { JSONWebKeySet, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { addErrorRules, SluiceError } from '../core/errors.ts'
import { OPTIONAL_RULES } from '../core/library-error-rules.ts'
import type { Claims, TokenVerifier } from './claims.ts'

/** Public keys, as an identity provider publishes them (RFC 7517). */
export interface JsonWebKeySet {
  readonly keys: readonly object[]
}

/** Which tokens are valid: the keys that sign them, and what they must contain. */
export interface JwtOptions {
  /** A shared secret, for HS256, HS384 and HS512. At least 32 bytes. */
  readonly secret?: string | Uint8Array
  /** A public key in PEM. */
  readonly publicKey?: string
  /** Public keys. */
  readonly jwks?: JsonWebKeySet
  /** Where public keys are fetched from: https, or http on this machine. */
  readonly jwksUrl?: string
  /**
   * Which algorithms are accepted. Default: all that fit the kind of key; a public key never verifies a shared
   * secret's.
   */
  readonly algorithms?: readonly string[]
  readonly issuer?: string | readonly string[]
  readonly audience?: string | readonly string[]
  /** How many seconds clocks may differ. Default: 5. */
  readonly clockToleranceS?: number
  /** How many verified tokens are remembered. Default: 10,000. */
  readonly mostRemembered?: number
  /** For tests. */
  readonly fetch?: typeof fetch
  readonly now?: () => number
}

const MAX_TOKEN_CHARACTERS = 8_192
const MAX_JWKS_BYTES = 262_144
const SYMMETRIC = ['HS256', 'HS384', 'HS512']
const ASYMMETRIC = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/**
 * Verifies tokens and remembers the good ones until they expire, under a keyed hash: a token that was seen a moment ago
 * costs a hash, not a signature. Keys from an address are fetched at most once in 30 seconds (after a failure, in 5),
 * within 5 seconds, up to 256 KiB.
 */
export function jwtVerifier(options: JwtOptions): TokenVerifier {
  addErrorRules(OPTIONAL_RULES)
  return new JwtVerifier(options)
}

type Jose = typeof import('./jose-parts.ts')
type Key = KeyObject | JWTVerifyGetKey
/** Makes the key when the package is there. */
type KeySource = (jose: Jose) => Key

class JwtVerifier implements TokenVerifier {
  /** Loaded when the first verifier is made: most apps have none. */
  readonly #jose: Promise<Jose>
  readonly #keySource: KeySource
  #key: Key | undefined
  readonly #verifyOptions: JWTVerifyOptions
  readonly #now: () => number
  readonly #most: number
  /** Drawn with the first token: Cloudflare Workers have no random values while a module loads. */
  #hashKey: Uint8Array | undefined
  readonly #remembered = new Map<string, { readonly claims: Claims; readonly untilMs: number }>()

  constructor(options: JwtOptions) {
    const { issuer, audience, clockToleranceS = 5, mostRemembered = 10_000, now = Date.now } = options
    const [keySource, algorithms] = keySourceOf(options)
    const allowed =
      options.algorithms === undefined ? algorithms : options.algorithms.filter((a) => algorithms.includes(a))
    if (allowed.length === 0) {
      throw new SluiceError(
        'JWT_OPTIONS_INVALID',
        'jwt.algorithms',
        `none of the algorithms fits the key (${algorithms.join(', ')})`,
      )
    }
    this.#keySource = keySource
    this.#jose = import('./jose-parts.ts')
    // The error is reported when a token is verified.
    this.#jose.catch(() => {})
    this.#now = now
    this.#most = mostRemembered
    this.#verifyOptions = {
      algorithms: [...allowed],
      clockTolerance: clockToleranceS,
      ...(issuer !== undefined && { issuer: typeof issuer === 'string' ? issuer : [...issuer] }),
      ...(audience !== undefined && { audience: typeof audience === 'string' ? audience : [...audience] }),
    }
  }

  verify(token: string): Claims | undefined | Promise<Claims | undefined> {
    if (token.length > MAX_TOKEN_CHARACTERS) return undefined
    this.#hashKey ??= randomBytes(32)
    const digest = createHmac('sha256', this.#hashKey).update(token).digest('base64')
    const known = this.#remembered.get(digest)
    if (known !== undefined && known.untilMs > this.#now()) return known.claims
    this.#remembered.delete(digest)
    return this.#verifyUncached(token, digest)
  }

  async #verifyUncached(token: string, digest: string): Promise<Claims | undefined> {
    const jose = await this.#jose
    try {
      const nowMs = this.#now()
      const options = { ...this.#verifyOptions, currentDate: new Date(nowMs) }
      this.#key ??= this.#keySource(jose)
      const { payload } = await (typeof this.#key === 'function'
        ? jose.jwtVerify(token, this.#key, options)
        : jose.jwtVerify(token, this.#key, options))
      this.#remember(digest, payload, nowMs)
      return payload
    } catch {
      return undefined
    }
  }

  /** Caches a token until it expires, for at most ten minutes: its key may be withdrawn meanwhile. */
  #remember(digest: string, claims: Claims, nowMs: number): void {
    const untilMs = Math.min(
      typeof claims.exp === 'number' ? claims.exp * 1000 : Number.POSITIVE_INFINITY,
      nowMs + MAX_MS,
    )
    if (this.#remembered.size >= this.#most) {
      // The oldest goes: a Map keeps its keys in order.
      for (const oldest of this.#remembered.keys()) {
        this.#remembered.delete(oldest)
        break
      }
    }
    this.#remembered.set(digest, { claims, untilMs })
  }
}

const MAX_MS = 600_000

function keySourceOf(options: JwtOptions): [KeySource, readonly string[]] {
  const { secret, publicKey, jwks, jwksUrl } = options
  const given = [secret, publicKey, jwks, jwksUrl].filter((each) => each !== undefined)
  if (given.length !== 1) throw new SluiceError('JWT_OPTIONS_INVALID', 'jwt', `got ${given.length}`)
  if (secret !== undefined) {
    const bytes = Buffer.from(secret)
    if (bytes.length < 32)
      throw new SluiceError('JWT_OPTIONS_INVALID', 'jwt.secret', `${bytes.length} bytes, expected at least 32`)
    const key = createSecretKey(bytes)
    return [() => key, SYMMETRIC]
  }
  if (publicKey !== undefined) {
    const key = publicKeyOf(publicKey)
    return [() => key, ASYMMETRIC]
  }
  if (jwks !== undefined) {
    const keys = withoutSecrets(jwks)
    return [({ createLocalJWKSet }) => createLocalJWKSet(keys), ASYMMETRIC]
  }
  return [remoteKeys(jwksUrl as string, options.fetch ?? fetch), ASYMMETRIC]
}

function publicKeyOf(pem: string): KeyObject {
  try {
    return createPublicKey(pem)
  } catch {
    throw new SluiceError('JWT_OPTIONS_INVALID', 'jwt.publicKey', 'not a public key in PEM form')
  }
}

/** Drops shared secrets: the algorithms of public keys would not use them. */
function withoutSecrets(jwks: JsonWebKeySet): JSONWebKeySet {
  const { keys } = jwks as JSONWebKeySet
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'object' && key !== null)) {
    throw new SluiceError('JWT_OPTIONS_INVALID', 'jwt.jwks', 'not a set of keys')
  }
  return { keys: keys.filter(({ kty }) => kty !== 'oct') }
}

function remoteKeys(address: string, fetchKeys: typeof fetch): KeySource {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const isHere = url?.hostname === 'localhost' || url?.hostname === '127.0.0.1' || url?.hostname === '[::1]'
  if (url === undefined || !(url.protocol === 'https:' || (url.protocol === 'http:' && isHere))) {
    throw new SluiceError('JWT_OPTIONS_INVALID', 'jwt.jwksUrl', `got ${JSON.stringify(address)}`)
  }
  let failedAtMs = Number.NEGATIVE_INFINITY
  const fetchUnlessFailed = async (input: string, init: RequestInit): Promise<Response> => {
    // Every token asks for keys while there are none; the server that has failed to give them is let alone for a while.
    if (performance.now() - failedAtMs < FAILURE_PAUSE_MS) throw new Error('fetching the keys has just failed')
    try {
      const response = await bounded(await fetchKeys(input, init))
      if (!response.ok) failedAtMs = performance.now()
      return response
    } catch (error) {
      failedAtMs = performance.now()
      throw error
    }
  }
  return ({ createRemoteJWKSet, customFetch }) =>
    createRemoteJWKSet(url, {
      timeoutDuration: 5_000,
      cooldownDuration: 30_000,
      cacheMaxAge: 600_000,
      [customFetch]: fetchUnlessFailed,
    })
}

const FAILURE_PAUSE_MS = 5_000

/** Reads an answer of up to 256 KiB: a key server must not fill this process's memory. */
async function bounded(response: Response): Promise<Response> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length
    if (bytes > MAX_JWKS_BYTES) throw new Error(`more than ${MAX_JWKS_BYTES} bytes in the set of keys`)
    chunks.push(chunk as Uint8Array)
  }
  return new Response(Buffer.concat(chunks), { status: response.status, headers: response.headers })
}
