import type { Operation as LedgerOperation } from '../../ledger/core/account-state.ts'
import { noParts } from '../../ledger/core/lot.ts'
import { ID, list, named, needed, object, orNull, TIME, WHOLE, WORDS, YES_OR_NO } from '../../records/forms.ts'
import { type Call, HANDLED, operation, type Reply } from '../api/operation.ts'
import { timeOf } from '../api/values.ts'
import {
  ANSWERED_BALANCE,
  BALANCE,
  BUFFERED,
  balanceJson,
  bufferedJson,
  doneJson,
  doneOf,
  eventResult,
  LEDGER_ERRORS,
  PAID_FROM,
  REPEATED,
  SHORTAGE,
  writeShort,
} from './answers.ts'
import { COMMIT, EVENT, RELEASE, RESERVATION } from './door-forms.ts'
import { LEDGER } from './ledger-key.ts'

const MOST_EVENTS = 1_000
const MOST_EVENT_BYTES = 524_288

// What programs ask at every request. An id makes each of them safe to send again: the ledger keeps it as long as the
// entry.

type Asked = { readonly customer: string; readonly meter: string; readonly id: string }

/** Does one operation, and answers with the result and what remains. */
async function done(
  call: Pick<Call, 'parts' | 'response' | 'nowMs'>,
  { customer, meter, id }: Asked,
  asked: LedgerOperation,
): Promise<Reply | typeof HANDLED> {
  const answer = await call.parts.get(LEDGER).ask(customer, meter, asked)
  const outcome = doneOf(answer, { customer, meter })
  if (outcome.kind === 'refused') {
    writeShort(call.response, outcome.shortage, answer.refusalStatus, call.nowMs)
    return HANDLED
  }
  if (outcome.kind === 'buffered') {
    return { body: { ...bufferedJson(id, asked, outcome.isRepeated), buffered: true, balance: null } }
  }
  // To commit nothing is to release: the answer has the form of a commit.
  const body =
    asked.kind === 'commit' && outcome.kind === 'released'
      ? { id, used: 0, paid_from: noParts(), late: false, repeated: outcome.isRepeated }
      : doneJson(id, outcome)
  return { body: { ...body, buffered: false, balance: balanceJson(answer.balance!) } }
}

const SETTLED = named(
  'Settled',
  object({
    id: needed(WORDS),
    used: needed(WHOLE),
    paid_from: needed(PAID_FROM),
    late: needed(YES_OR_NO, 'its reservation had expired'),
    repeated: REPEATED,
    buffered: BUFFERED,
    balance: ANSWERED_BALANCE,
  }),
)
const RELEASED = named(
  'Released',
  object({ id: needed(WORDS), repeated: REPEATED, buffered: BUFFERED, balance: ANSWERED_BALANCE }),
)

export const LEDGER_DOOR_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'reserve',
    method: 'POST',
    path: '/ledger/reserve',
    tag: 'ledger',
    role: 'ledger',
    summary: 'keep an amount for a request, before its work is done',
    body: RESERVATION,
    answer: {
      status: 200,
      schema: named(
        'Reserved',
        object({
          id: needed(WORDS),
          amount: needed(WHOLE),
          state: needed({ kind: 'choice', of: ['held', 'committed', 'released', 'expired'] }),
          expires_at: orNull(TIME, 'null: it is not held any more, or is buffered'),
          paid_from: needed(PAID_FROM),
          repeated: REPEATED,
          buffered: BUFFERED,
          balance: ANSWERED_BALANCE,
        }),
      ),
    },
    errors: [...LEDGER_ERRORS, 'LEDGER_SHORT'],
    run: (call) => {
      const { id, amount, hold_seconds } = call.body
      const holdMs = hold_seconds == null ? undefined : hold_seconds * 1000
      return done(call, call.body, { kind: 'reserve', id, amount, holdMs })
    },
  }),
  operation({
    kind: 'look',
    id: 'commit',
    method: 'POST',
    path: '/ledger/commit',
    tag: 'ledger',
    role: 'ledger',
    summary: 'book what a request used of its reservation, and give back the rest',
    body: COMMIT,
    answer: { status: 200, schema: SETTLED },
    errors: [...LEDGER_ERRORS, 'LEDGER_HOLD_UNKNOWN', 'LEDGER_HOLD_RESOLVED'],
    run: (call) => done(call, call.body, { kind: 'commit', id: call.body.id, used: call.body.used }),
  }),
  operation({
    kind: 'look',
    id: 'release',
    method: 'POST',
    path: '/ledger/release',
    tag: 'ledger',
    role: 'ledger',
    summary: 'give back all of a reservation',
    body: RELEASE,
    answer: { status: 200, schema: RELEASED },
    errors: [...LEDGER_ERRORS, 'LEDGER_HOLD_UNKNOWN', 'LEDGER_HOLD_RESOLVED'],
    run: (call) => done(call, call.body, { kind: 'release', id: call.body.id }),
  }),
  operation({
    kind: 'look',
    id: 'bookEvents',
    method: 'POST',
    path: '/ledger/events',
    tag: 'ledger',
    role: 'ledger',
    summary: 'book what was used without a reservation, up to 1,000 events with a result each',
    body: named(
      'Events',
      object({
        events: needed({
          kind: 'list',
          min: 1,
          max: MOST_EVENTS,
          of: EVENT,
        }),
      }),
    ),
    maxBodyBytes: MOST_EVENT_BYTES,
    answer: {
      status: 200,
      schema: object({
        results: needed(
          list(
            named(
              'EventResult',
              object({
                id: needed(WORDS),
                result: needed({ kind: 'choice', of: ['accepted', 'duplicate', 'buffered', 'refused'] }),
                code: orNull(WORDS, 'why it was refused, as in docs/errors.md'),
                paid_from: orNull(PAID_FROM),
                shortage: orNull(SHORTAGE),
              }),
            ),
          ),
          'in the order of the events',
        ),
      }),
    },
    errors: ['LEDGER_BUSY'],
    run: async (call) => {
      const ledger = call.parts.get(LEDGER)
      const events = call.body.events.map((event, i) => ({ ...event, atMs: timeOf(event.at, `body.events[${i}].at`) }))
      const answers = await ledger.askAll(
        events.map(({ customer: customerId, meter: meterId, id, amount, atMs }) => ({
          customerId,
          meterId,
          operation: { kind: 'event', id, amount, atMs },
        })),
      )
      return { body: { results: answers.map((answer, i) => ({ id: events[i].id, ...eventResult(answer) })) } }
    },
  }),
  operation({
    kind: 'look',
    id: 'readBalance',
    method: 'GET',
    path: '/ledger/balance',
    tag: 'ledger',
    role: 'ledger',
    summary: 'what a customer has left of a meter',
    query: {
      customer: { schema: ID, required: true, doc: 'the id of the customer' },
      meter: { schema: ID, required: true, doc: 'the id of the meter' },
    },
    answer: { status: 200, schema: BALANCE },
    errors: LEDGER_ERRORS,
    run: async (call) => {
      const { customer, meter } = call.query
      const answer = await call.parts.get(LEDGER).ask(customer, meter, { kind: 'look' })
      doneOf(answer, { customer, meter })
      return { body: balanceJson(answer.balance!) }
    },
  }),
]
