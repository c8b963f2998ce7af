import type { CheckRequest, Permit } from './check-request.ts'

/** What work receives while permits are held for it. */
export interface Holder {
  /** The decision that let the work begin. */
  readonly permit: Permit
  /** Aborts when the permits are lost and cannot be taken again: another caller may have them now. */
  readonly signal: AbortSignal
}

/** What holding permits needs of a client. */
export interface HoldClient {
  acquire(request: CheckRequest): Promise<Permit>
  /** Throws for a permit that refuses. */
  orThrow(permit: Permit): Permit
  failed(error: unknown): void
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Takes places, renews them while the work runs, and gives them back. It throws what `orThrow` and the work throw. */
export async function hold<T>(
  client: HoldClient,
  request: CheckRequest,
  work: (holder: Holder) => T | Promise<T>,
): Promise<T> {
  const held = new HeldPlaces(client, request, client.orThrow(await client.acquire(request)))
  try {
    return await work(held.holder)
  } finally {
    await held.end()
  }
}

/** Keeps the places of one piece of work. There is one timer for it, and never two calls at a time. */
class HeldPlaces {
  readonly holder: Holder
  readonly #client: HoldClient
  readonly #request: CheckRequest
  readonly #abort = new AbortController()
  #permit: Permit
  /** How long places are held; undefined where no rule has any. */
  #ttlMs: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #renewing: Promise<void> = Promise.resolve()
  #isOver = false

  constructor(client: HoldClient, request: CheckRequest, permit: Permit) {
    this.#client = client
    this.#request = request
    this.#permit = permit
    this.#ttlMs = permit.leaseTtlMs
    this.holder = { permit, signal: this.#abort.signal }
    this.#schedule()
  }

  /** Waits for a renewal in flight: what it takes again is given back, too. */
  async end(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#renewing
    await this.#permit.release().catch(this.#client.failed)
  }

  #schedule(): void {
    if (this.#isOver || this.#ttlMs === undefined) return
    this.#timer = setTimeout(
      () => {
        this.#renewing = this.#renew()
          .catch(this.#client.failed)
          .then(() => this.#schedule())
      },
      Math.min(this.#ttlMs / 3, LONGEST_TIMER_MS),
    )
  }

  async #renew(): Promise<void> {
    if ((await this.#permit.renew()) !== 'lost' || this.#isOver) return
    const again = await this.#client.acquire(this.#request)
    if (again.allowed) {
      this.#permit = again
      this.#ttlMs = again.leaseTtlMs ?? this.#ttlMs
      return
    }
    this.#ttlMs = undefined
    this.#abort.abort(refusalOf(this.#client, again))
  }
}

/** Returns the error that says why a permit was refused. */
function refusalOf(client: HoldClient, permit: Permit): unknown {
  try {
    return client.orThrow(permit)
  } catch (error) {
    return error
  }
}
