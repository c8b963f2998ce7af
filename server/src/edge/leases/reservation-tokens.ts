import { randomBytes } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import type { LedgerHold } from 'sluice/internal/core/ledger-note'
import type { CheckRequest } from 'sluice/internal/core/request'
import { SealedTexts } from './sealed-texts.ts'

/** What was asked and charged, to be settled once. */
export interface Reservation {
  readonly id: string
  readonly request: CheckRequest
  readonly charged: readonly string[]
  /** What the ledger keeps for it. */
  readonly holds: readonly LedgerHold[]
}

/** How long a reservation may be settled. What it was charged stays charged after that. */
const LASTS_MS = 3_600_000

/** Turns reservations into texts that clients keep, and back: nodes remember nothing. */
export class ReservationTokens {
  readonly #texts: SealedTexts
  readonly #now: () => number

  constructor(secret?: string, now: () => number = Date.now) {
    this.#texts = new SealedTexts('sluice reservations', secret)
    this.#now = now
  }

  seal(
    { domain, descriptors, cost }: CheckRequest,
    charged: readonly string[],
    holds: readonly LedgerHold[] = [],
  ): string {
    const id = randomBytes(12).toString('base64url')
    return this.#texts.seal(JSON.stringify([id, this.#now() + LASTS_MS, domain, descriptors, cost, charged, holds]))
  }

  open(token: string): Reservation {
    const text = this.#texts.open(token)
    if (text === undefined) throw new SluiceError('RESERVATION_INVALID', 'settle', 'unknown reservation')
    // What is authentic was written by a node, and parses.
    const [id, untilMs, domain, descriptors, cost, charged, holds = []] = JSON.parse(text) as Packed
    if (this.#now() > untilMs) throw new SluiceError('RESERVATION_INVALID', 'settle', 'the reservation has expired')
    return { id, request: { domain, descriptors, cost }, charged, holds }
  }
}

type Packed = readonly [
  id: string,
  untilMs: number,
  domain: string,
  descriptors: CheckRequest['descriptors'],
  cost: number,
  charged: readonly string[],
  /** Nodes of earlier versions say nothing of it. */
  holds?: readonly LedgerHold[],
]
