import { SluiceError } from 'sluice/internal/core/errors'
import { choice, count, text, value } from '../../records/field.ts'
import { QUANTITY, TIER_NAME, text as textForm, WORDS } from '../../records/forms.ts'
import { recordTable } from '../../records/record-table.ts'
import { CREATED, id, UPDATED, VERSION } from '../../records/shared-fields.ts'

const PERIOD = { kind: 'choice', of: ['day', 'week', 'month', 'year'] } as const
const SECONDS = (min: number) => ({ kind: 'integer', min, max: 31 * 86_400 }) as const
const NO_ALLOWANCES: Readonly<Record<string, number>> = Object.freeze({})

const MAX_ALLOWANCES = 1_000

function readAllowances(allowances: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  if (Object.keys(allowances).length <= MAX_ALLOWANCES) return allowances
  throw new SluiceError('ADMIN_REQUEST_INVALID', 'body.allowances', `more than ${MAX_ALLOWANCES} tiers`)
}

function readRefusalStatus(status: number): number {
  if (status === 402 || status === 429) return status
  throw new SluiceError('ADMIN_REQUEST_INVALID', 'body.refusal_status', `got ${status}, not 402 or 429`)
}

/**
 * A Meter is something that is sold by quantity and billed exactly, such as exports or tokens. The ledger counts it.
 */
export const meters = recordTable({
  table: 'sluice.meters',
  schemaName: 'Meter',
  fields: {
    /** Chosen by the API's owner, such as `exports`. */
    id: id(),
    unit: text(WORDS, {
      by: 'caller',
      sent: textForm(64),
      doc: 'what it counts, for people; the id by default',
      initial: ({ id }) => id,
    }),
    period: choice(PERIOD, { by: 'caller', doc: 'for how long an allowance is; `month` by default', initial: 'month' }),
    /** Of customers whose tier is not in `allowances`. */
    allowance: count(QUANTITY, {
      by: 'caller',
      doc: 'what a customer may use in a period whose tier is not in `allowances`; 0 by default',
      initial: 0,
    }),
    allowances: value<Readonly<Record<string, number>>>(
      { kind: 'map', keys: TIER_NAME, of: QUANTITY },
      {
        by: 'caller',
        doc: 'what customers may use in a period, by tier',
        initial: NO_ALLOWANCES,
        read: readAllowances,
      },
    ),
    carryMost: count(QUANTITY, {
      by: 'caller',
      doc: 'how much of an allowance is carried over if it was not used, at most; 0 by default',
      initial: 0,
    }),
    carryPeriods: count(
      { kind: 'integer', min: 1, max: 12 },
      { by: 'caller', doc: 'for how many periods it is carried over; 1 by default', initial: 1 },
    ),
    graceSeconds: count(SECONDS(0), {
      by: 'caller',
      doc: 'for how long after its end a period takes events that happened in it; 0 by default',
      initial: 0,
    }),
    overdraft: count(QUANTITY, { by: 'caller', doc: 'how far below zero a customer may go; 0 by default', initial: 0 }),
    holdSeconds: count(SECONDS(1), {
      by: 'caller',
      doc: 'for how long a reservation lasts that does not say; 300 by default',
      initial: 300,
    }),
    refusalStatus: count(
      { kind: 'integer', min: 402, max: 429 },
      {
        by: 'caller',
        doc: 'the status of refusals, 402 or 429; 402 by default',
        initial: 402,
        read: readRefusalStatus,
      },
    ),
    whenUnavailable: choice(
      { kind: 'choice', of: ['closed', 'buffer', 'open'] },
      {
        by: 'caller',
        doc: 'while the database is unavailable: `closed` refuses, `buffer` takes what was last seen available, `open` takes all; `closed` by default',
        initial: 'closed',
      },
    ),
    ...VERSION,
    ...CREATED,
    ...UPDATED,
  },
  filters: { period: 'period' },
  searched: ['unit'],
})
