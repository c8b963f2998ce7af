import { checkOptions, type Kinds } from '../options.ts'
import type { Balance, Booked, Hold, LedgerAsked, LedgerWhose, NotPaid, Reserved } from './ledger-request.ts'

/** Where the ledger is. */
export interface LedgerClientOptions {
  /** The admin port of a service, such as `http://localhost:8082`. */
  readonly url: string
  /** A token with the role `ledger`. */
  readonly token: string
  /** How long one attempt may take. Default: 2,000. */
  readonly deadlineMs?: number
  /** How often a request that was not answered is sent again, with the same id. Default: 2. */
  readonly retries?: number
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Asks the ledger of a Sluice service. A refusal is an answer; it throws a LedgerError for what the ledger does not
 * take, and where it does not answer: then the request may have been done, and may be sent again with the same id.
 */
export interface LedgerClient {
  /** Keeps an amount for a request, before its work is done. */
  reserve(asked: LedgerAsked): Promise<Reserved | NotPaid>
  /** Reserves, works, and commits what the work says that it used; releases where it throws. */
  hold<T>(asked: LedgerAsked, work: (hold: Hold) => T | Promise<T>): Promise<T>
  /** Books what a reservation used, which may have been made elsewhere. 0 releases it. */
  commit(whose: LedgerWhose & { readonly id: string }, used: number): Promise<Booked>
  /** Gives back all of a reservation. */
  release(whose: LedgerWhose & { readonly id: string }): Promise<void>
  /** Books what was used without a reservation. */
  book(asked: LedgerAsked & { readonly at?: Date }): Promise<Booked | NotPaid>
  balance(whose: LedgerWhose): Promise<Balance>
}

/** A LedgerError says why there is no answer: a code of docs/errors.md, or none where the service did not answer. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError'
  readonly status: number | undefined
  readonly code: string | undefined
  /** Of `hold`: what ran out. */
  readonly shortage: NotPaid | undefined

  constructor(message: string, status?: number, code?: string, shortage?: NotPaid, cause?: unknown) {
    super(message, { cause })
    this.status = status
    this.code = code
    this.shortage = shortage
  }
}

const KINDS: Kinds<LedgerClientOptions> = {
  url: 'string',
  token: 'string',
  deadlineMs: 'number',
  retries: 'number',
  fetch: 'function',
}

const SHORT = 'LEDGER_SHORT'
const AGAIN_MS = 50

type Json = Record<string, unknown>

/** Makes a client of the ledger of a service, over fetch. */
export function createLedgerClient(options: LedgerClientOptions): LedgerClient {
  checkOptions(options, KINDS)
  const { token, deadlineMs = 2_000, retries = 2 } = options
  if (!(deadlineMs > 0)) throw new TypeError(`deadlineMs must be above 0, not ${deadlineMs}`)
  if (token === undefined) throw new TypeError('token is missing: the ledger needs one with the role "ledger"')
  const base = new URL(options.url)

  async function attempt(path: string, body: Json | undefined): Promise<Json> {
    const response = await (options.fetch ?? globalThis.fetch)(new URL(`/v1/ledger/${path}`, base), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(Math.min(deadlineMs, 2 ** 31 - 1)),
    })
    const { status } = response
    const answer = ((await response.json().catch(() => undefined)) ?? {}) as Json
    const { code, detail } = answer as { code?: string; detail?: string }
    if (response.ok || code === SHORT) return { ...answer, status }
    throw new LedgerError(detail ?? `the service answered ${status}`, status, code)
  }

  /** Sends a request until there is an answer: its id makes that safe. */
  async function ask(path: string, body?: Json): Promise<Json> {
    for (let sent = 0; ; sent++) {
      try {
        return await attempt(path, body)
      } catch (error) {
        const own =
          error instanceof LedgerError
            ? error
            : new LedgerError(`no answer: ${error}`, undefined, undefined, undefined, error)
        if (sent >= retries || !isRepeatable(own)) throw own
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS * 2 ** sent))
      }
    }
  }

  const commit: LedgerClient['commit'] = async ({ customer, meter, id }, used) =>
    bookedOf(await ask('commit', { customer, meter, id, used }))
  const release: LedgerClient['release'] = async ({ customer, meter, id }) => {
    await ask('release', { customer, meter, id })
  }
  const reserve: LedgerClient['reserve'] = async ({ customer, meter, amount, id = newId(), holdSeconds }) => {
    const answer = await ask('reserve', {
      customer,
      meter,
      id,
      amount,
      ...(holdSeconds && { hold_seconds: holdSeconds }),
    })
    if (answer.code === SHORT) return notPaid(answer, answer.status as number)
    const whose = { customer, meter, id }
    return {
      paid: true,
      id,
      amount,
      paidFrom: answer.paid_from as Booked['paidFrom'],
      repeated: answer.repeated === true,
      ...(typeof answer.expires_at === 'string' && { expiresAt: new Date(answer.expires_at) }),
      commit: (used) => commit(whose, used),
      release: () => release(whose),
    }
  }

  return {
    reserve,
    commit,
    release,
    async hold(asked, work) {
      const reserved = await reserve(asked)
      if (!reserved.paid) throw new LedgerError(reserved.reason, reserved.status, SHORT, reserved)
      const hold: Hold = { id: reserved.id, amount: reserved.amount, used: reserved.amount }
      let result: Awaited<ReturnType<typeof work>>
      try {
        result = await work(hold)
      } catch (error) {
        // Where this fails as well, the reservation expires.
        await reserved.release().catch(() => {})
        throw error
      }
      await reserved.commit(hold.used)
      return result
    },
    async book({ customer, meter, amount, id = newId(), at }) {
      const event = { customer, meter, id, amount, ...(at && { at: at.toISOString() }) }
      const [result] = (await ask('events', { events: [event] })).results as Json[]
      if (result.code === SHORT) return notPaid({ ...(result.shortage as Json) }, 402)
      if (result.result === 'refused')
        throw new LedgerError(`the event was refused: ${result.code}`, 200, `${result.code}`)
      return {
        paid: true,
        id,
        used: amount,
        paidFrom: result.paid_from as Booked['paidFrom'],
        repeated: result.result === 'duplicate',
      }
    },
    async balance({ customer, meter }) {
      const query = new URLSearchParams({ customer, meter })
      const { status: _, ...balance } = await ask(`balance?${query}`)
      return balance as unknown as Balance
    },
  }
}

const newId = (): string => globalThis.crypto.randomUUID()

/** What was not answered, or not yet, may be sent again. */
const isRepeatable = ({ status, code }: LedgerError): boolean =>
  status === undefined || status >= 500 || code === 'IDEMPOTENCY_IN_PROGRESS'

function bookedOf({ id, used, paid_from, repeated }: Json): Booked {
  return {
    paid: true,
    id: `${id}`,
    used: used as number,
    paidFrom: paid_from as Booked['paidFrom'],
    repeated: repeated === true,
  }
}

function notPaid({ needed, available, ran_out, renews_at, would_help, detail }: Json, status: number): NotPaid {
  return {
    paid: false,
    status,
    reason: typeof detail === 'string' ? detail : `needs ${needed}, and too little is left`,
    needed: needed as number,
    available: available as NotPaid['available'],
    ranOut: ran_out as NotPaid['ranOut'],
    wouldHelp: would_help as NotPaid['wouldHelp'],
    ...(typeof renews_at === 'string' && { renewsAt: new Date(renews_at) }),
  }
}
