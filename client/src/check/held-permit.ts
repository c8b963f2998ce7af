import { LONGEST_TIMER_MS } from '../reset-time.ts'
import type { CheckRequest, LeasedPermit, Permit, Renewed } from './check-request.ts'

/** What keeping permits needs of a client. */
export interface PermitSource {
  acquire(request: CheckRequest): Promise<LeasedPermit>
  /** Returns the error that says why a permit was refused. */
  refusalOf(permit: LeasedPermit): unknown
  failed(error: unknown): void
}

/** Keeps a permit renewed until it is released. A permit that no rule limits has nothing to renew. */
export function heldPermit(source: PermitSource, request: CheckRequest, first: LeasedPermit): Permit {
  const lease = new RenewedLease(source, request, first)
  const { leaseTtlMs, renew: _, release: __, ...decision } = first
  return {
    ...decision,
    ...(leaseTtlMs !== undefined && { leaseTtlMs }),
    signal: lease.signal,
    renew: () => lease.renew(),
    release: () => lease.release(),
  }
}

/** Renews what is held for one caller. There is one timer for it, and never two calls at a time. */
class RenewedLease {
  readonly #source: PermitSource
  readonly #request: CheckRequest
  readonly #lost = new AbortController()
  #permit: LeasedPermit
  /** How long permits are held; undefined where none is. */
  #ttlMs: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #renewing: Promise<void> = Promise.resolve()
  #isReleased = false

  constructor(source: PermitSource, request: CheckRequest, permit: LeasedPermit) {
    this.#source = source
    this.#request = request
    this.#permit = permit
    this.#ttlMs = permit.leaseTtlMs
    this.#schedule()
  }

  get signal(): AbortSignal {
    return this.#lost.signal
  }

  renew(): Promise<Renewed> {
    return this.#permit.renew()
  }

  /** Waits for a renewal in flight: what it acquires again is released as well. */
  async release(): Promise<void> {
    this.#isReleased = true
    clearTimeout(this.#timer)
    await this.#renewing
    await this.#permit.release()
  }

  #schedule(): void {
    if (this.#isReleased || this.#ttlMs === undefined) return
    const renew = (): void => {
      this.#renewing = this.#keep()
        .catch((error) => this.#source.failed(error))
        .then(() => this.#schedule())
    }
    this.#timer = setTimeout(renew, Math.min(this.#ttlMs / 3, LONGEST_TIMER_MS))
    // A permit keeps no process alive; what it is held for does.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  async #keep(): Promise<void> {
    if ((await this.#permit.renew()) !== 'lost' || this.#isReleased) return
    const again = await this.#source.acquire(this.#request)
    if (again.allowed) {
      this.#permit = again
      this.#ttlMs = again.leaseTtlMs ?? this.#ttlMs
      return
    }
    this.#ttlMs = undefined
    this.#lost.abort(this.#source.refusalOf(again))
  }
}
