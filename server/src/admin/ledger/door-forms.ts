import { ID, named, needed, object, optional, QUANTITY, TIME } from '../../records/forms.ts'

// What programs send at every request, over HTTP and gRPC.

export const LEDGER_ID = {
  kind: 'text',
  pattern: /^[\x21-\x7e]{1,128}$/,
  whenOther: 'an id has 1 to 128 printable characters without spaces',
} as const

export const AMOUNT = { kind: 'integer', min: 1, max: QUANTITY.max } as const
const HOLD_SECONDS = { kind: 'integer', min: 1, max: 31 * 86_400 } as const

export const WHOSE = { customer: needed(ID), meter: needed(ID) } as const
const NAMED = { ...WHOSE, id: needed(LEDGER_ID, 'chosen by the caller, once for each request') } as const

export const RESERVATION = named(
  'Reservation',
  object({
    ...NAMED,
    amount: needed(AMOUNT, 'the most that the request may use'),
    hold_seconds: optional(HOLD_SECONDS, 'for how long; as the meter says by default'),
  }),
)
export const COMMIT = named('Commit', object({ ...NAMED, used: needed(QUANTITY, '0 releases') }))
export const RELEASE = named('Release', object(NAMED))
export const EVENT = object({
  ...NAMED,
  amount: needed(AMOUNT),
  at: optional(TIME, 'when it happened; now by default'),
})
