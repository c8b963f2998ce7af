import { RateLimitError } from '../errors.ts'
import { checkOptions, type Kinds } from '../options.ts'
import type {
  CheckDecision,
  CheckRequest,
  Holder,
  LeasedPermit,
  Permit,
  Renewed,
  Reservation,
} from './check-request.ts'
import { heldPermit } from './held-permit.ts'

/** Where the service is, and what is decided when it does not answer. */
export interface CheckClientOptions {
  /** Where the service listens, such as `http://localhost:8080`. */
  readonly url: string
  /** SLUICE_TOKEN of the service, where it has one. */
  readonly token?: string
  /** How long the service may take. Default: 250. */
  readonly deadlineMs?: number
  /** What is decided when it does not answer: `open` admits, `closed` refuses. Default: open. */
  readonly onFailure?: 'open' | 'closed'
  /** Receives failures. Default: none; decisions report them too. */
  readonly failed?: (error: unknown) => void
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Asks a Sluice service. It throws for requests that the service does not understand; hold throws for refusals, too.
 */
export interface CheckClient {
  check(request: CheckRequest): Promise<CheckDecision>
  /** Like check, and acquires permits of `concurrency` rules. They are renewed until they are released. */
  acquire(request: CheckRequest): Promise<Permit>
  /**
   * Acquires permits, works, and releases them. It throws a RateLimitError when it is refused, and what the work
   * throws.
   */
  hold<T>(request: CheckRequest, work: (holder: Holder) => T | Promise<T>): Promise<T>
  /** Like check with an estimate as its cost. */
  reserve(request: CheckRequest): Promise<Reservation>
}

/** A CheckRequestError says that the service does not take a request: it is wrong, or its caller may not ask. */
export class CheckRequestError extends Error {
  override readonly name = 'CheckRequestError'
  readonly status: number
  /** A code of docs/errors.md. */
  readonly code: string | undefined

  constructor(status: number, code: string | undefined, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const KINDS: Kinds<CheckClientOptions> = {
  url: 'string',
  token: 'string',
  deadlineMs: 'number',
  onFailure: 'string',
  failed: 'function',
  fetch: 'function',
}

type Answer = CheckDecision & { readonly lease?: string; readonly leaseTtlMs?: number; readonly reservation?: string }
type Renewal = {
  readonly leases: readonly { readonly renewed: boolean; readonly error?: { readonly code?: string } }[]
}
type Settled = { readonly settled: boolean }

/** Makes a client of the check API of a service, over fetch. */
export function createCheckClient(options: CheckClientOptions): CheckClient {
  checkOptions(options, KINDS)
  const { token, deadlineMs = 250, onFailure = 'open', failed } = options
  if (onFailure !== 'open' && onFailure !== 'closed') {
    throw new TypeError(`onFailure must be "open" or "closed", not "${onFailure}"`)
  }
  if (!(deadlineMs > 0)) throw new TypeError(`deadlineMs must be above 0, not ${deadlineMs}`)
  const base = new URL(options.url)
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }

  /** Returns the answer of the service, or undefined when it had none to give. */
  async function ask<T>(
    path: string,
    body: object,
    isAnswer: (answer: unknown) => answer is T,
  ): Promise<T | undefined> {
    const response = await (options.fetch ?? globalThis.fetch)(new URL(path, base), {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(Math.min(deadlineMs, 2 ** 31 - 1)),
    })
    if (response.status === 204) return undefined
    const answer: unknown = await response.json()
    if (isAnswer(answer)) return answer
    const { code, detail } = (answer ?? {}) as { code?: string; detail?: string }
    const message = detail ?? `the service answered ${response.status}`
    if (response.status >= 400 && response.status < 500 && code)
      throw new CheckRequestError(response.status, code, message)
    throw new Error(message)
  }

  /** decide asks, and decides itself when no answer comes. */
  async function decide(path: string, request: object): Promise<Answer> {
    try {
      return (await ask(path, request, isDecision)) ?? { allowed: true, verdicts: [] }
    } catch (error) {
      if (error instanceof CheckRequestError) throw error
      failed?.(error)
      return { allowed: onFailure === 'open', verdicts: [], failure: error }
    }
  }

  /** Sends what is known afterwards. A failure is reported and changes nothing. */
  async function late<T>(
    path: string,
    body: object,
    isAnswer: (answer: unknown) => answer is T,
  ): Promise<T | undefined> {
    try {
      return await ask(path, body, isAnswer)
    } catch (error) {
      if (error instanceof CheckRequestError) throw error
      failed?.(error)
      return undefined
    }
  }

  async function lease(request: CheckRequest): Promise<LeasedPermit> {
    const { lease: id, ...decision } = await decide('/v1/acquire', request)
    const release = async (): Promise<void> => {
      if (id !== undefined) await late('/v1/release', { lease: id }, isSettlement)
    }
    const renew = async (): Promise<Renewed> => {
      if (id === undefined) return 'lost'
      return renewedOf(await late('/v1/renew', { leases: [id] }, isRenewal))
    }
    return { ...decision, renew, release }
  }

  const source = { acquire: lease, refusalOf, failed: (error: unknown) => failed?.(error) }
  const acquire = async (request: CheckRequest): Promise<Permit> => heldPermit(source, request, await lease(request))

  return {
    check: (request) => decide('/v1/check', request),
    acquire,
    async hold(request, work) {
      const permit = orThrow(await acquire(request))
      try {
        return await work({ permit, signal: permit.signal })
      } finally {
        await permit.release().catch(source.failed)
      }
    },
    async reserve(request) {
      const { cost = 1, ...asked } = request
      const { reservation, ...decision } = await decide('/v1/check', { ...asked, reserve: cost })
      const settle = async (actual: number): Promise<boolean> => {
        if (reservation === undefined) return false
        return (await late('/v1/check', { settle: reservation, cost: actual }, isSettlement))?.settled === true
      }
      return { ...decision, settle }
    },
  }
}

/** Returns a decision that admits, and throws a RateLimitError for one that refuses. */
export function orThrow<D extends CheckDecision>(decision: D): D {
  if (decision.allowed) return decision
  throw refusalOf(decision)
}

function refusalOf({ reason, retryAfterMs }: CheckDecision): RateLimitError {
  return new RateLimitError('refused', reason ?? 'refused', retryAfterMs)
}

function isDecision(answer: unknown): answer is Answer {
  const { allowed, verdicts } = (answer ?? {}) as Partial<Answer>
  return typeof allowed === 'boolean' && Array.isArray(verdicts)
}

function isRenewal(answer: unknown): answer is Renewal {
  const { leases } = (answer ?? {}) as Partial<Renewal>
  return Array.isArray(leases) && typeof leases[0]?.renewed === 'boolean'
}

function renewedOf(answer: Renewal | undefined): Renewed {
  if (answer === undefined) return 'failed'
  const [{ renewed, error }] = answer.leases
  if (renewed) return 'renewed'
  return error?.code === 'LEASE_NOT_RENEWED' ? 'failed' : 'lost'
}

function isSettlement(answer: unknown): answer is Settled {
  return typeof (answer as Partial<Settled> | null)?.settled === 'boolean'
}
