import { SluiceError } from 'sluice/internal/core/errors'
import type { CheckRequest } from 'sluice/internal/core/request'
import { SealedTexts } from './sealed-texts.ts'

/** A Reservation is a request whose cost was an estimate, and what was charged for it. */
export interface Reservation {
  readonly request: CheckRequest
  readonly charged: readonly string[]
}

/** What a request to reserve may have, so that the text fits into the body that brings it back. */
const MAX_BYTES = 15_000

/** ReservationTokens turns reservations into texts that clients keep, and back. Any node with the same secret opens them. */
export class ReservationTokens {
  readonly #texts: SealedTexts

  constructor(secret?: string) {
    this.#texts = new SealedTexts('sluice reservation tokens', secret)
  }

  seal({ request, charged }: Reservation): string {
    return this.#texts.seal([request, charged])
  }

  open(token: string): Reservation {
    const [request, charged] = this.#texts.open(token, invalid) as [CheckRequest, string[]]
    return { request, charged }
  }
}

/** requireReservable throws for a body that is too long to be kept in a reservation. */
export function requireReservable(body: string): void {
  const bytes = Buffer.byteLength(body)
  if (bytes > MAX_BYTES) {
    throw new SluiceError('RESERVATION_TOO_LARGE', 'body', `${bytes} bytes`)
  }
}

function invalid(detail: string): SluiceError {
  return new SluiceError('RESERVATION_INVALID', 'reservation', detail)
}
