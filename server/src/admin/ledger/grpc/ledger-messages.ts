import type { Balance, Shortage } from '../../../ledger/core/account-state.ts'
import type { Parts } from '../../../ledger/core/lot.ts'
import type { LedgerAnswer } from '../../../ledger/ledger-batch.ts'
import { MalformedMessage, type ProtoReader } from '../../../protobuf/reader.ts'
import { boolField, join, messageField, numberField, type ProtoField, textField } from '../../../protobuf/writer.ts'
import { codeOf } from '../answers.ts'

/** What every request of sluice.v1.Ledger may have. `number` is the amount, and `more` the last field. */
export interface LedgerCall {
  customer: string
  meter: string
  id: string
  number: number
  more: number
}

export const MOST_EVENTS = 1_000
/** Fields of a message: five of an event, and the event. */
const MOST_FIELDS = 8 * MOST_EVENTS

/** Reads a request about one account. */
export function decodeCall(reader: ProtoReader, bytes: Uint8Array): LedgerCall {
  reader.open(bytes, 0, bytes.length, MOST_FIELDS)
  const call = readCall(reader, bytes.length)
  reader.close()
  return call
}

/** Reads sluice.v1.EventsRequest. */
export function decodeEvents(reader: ProtoReader, bytes: Uint8Array): readonly LedgerCall[] {
  const events: LedgerCall[] = []
  const end = bytes.length
  reader.open(bytes, 0, end, MOST_FIELDS)
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag !== 0x0a) reader.skip(tag, end)
    else if (events.length === MOST_EVENTS) throw new MalformedMessage(`more than ${MOST_EVENTS} events`)
    else events.push(readCall(reader, reader.part(end)))
  }
  reader.close()
  return events
}

function readCall(reader: ProtoReader, end: number): LedgerCall {
  const call = { customer: '', meter: '', id: '', number: 0, more: 0 }
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) call.customer = reader.text(reader.part(end))
    else if (tag === 0x12) call.meter = reader.text(reader.part(end))
    else if (tag === 0x1a) call.id = reader.text(reader.part(end))
    else if (tag === 0x20) call.number = reader.uint64(end)
    else if (tag === 0x28) call.more = reader.uint64(end)
    else reader.skip(tag, end)
  }
  return call
}

const STATES = { held: 1, committed: 2, released: 3, expired: 4 } as const
const RESULTS = { accepted: 1, duplicate: 2, buffered: 3, refused: 4 } as const

/** Encodes sluice.v1.LedgerAnswer. `asked` is the amount of the request. */
export function encodeAnswer({ outcome, balance }: LedgerAnswer, asked: number): Uint8Array {
  const fields: ProtoField[] = balance === undefined ? [] : [balanceField(8, balance)]
  if (outcome.kind === 'refused') return join([...fields, shortageField(9, outcome.shortage)])
  if ('isRepeated' in outcome) fields.push(boolField(1, outcome.isRepeated))
  if (outcome.kind === 'buffered') fields.push(boolField(2, true), numberField(5, asked))
  if (outcome.kind === 'released') fields.push(numberField(4, STATES.released))
  if (outcome.kind === 'settled') {
    const { isLate, used, paidFrom } = outcome
    fields.push(boolField(3, isLate), numberField(5, used), partsField(7, paidFrom))
  }
  if (outcome.kind === 'reserved') {
    const { state, amount, expiresAtMs = 0, paidFrom } = outcome
    fields.push(numberField(4, STATES[state]), numberField(5, amount), numberField(6, expiresAtMs))
    fields.push(partsField(7, paidFrom))
  }
  return join(fields)
}

/** Encodes sluice.v1.EventsResponse. */
export function encodeResults(events: readonly LedgerCall[], answers: readonly LedgerAnswer[]): Uint8Array {
  return join(answers.map((answer, i) => messageField(1, textField(1, events[i].id), ...resultFields(answer))))
}

function resultFields({ outcome }: LedgerAnswer): readonly ProtoField[] {
  if (outcome.kind === 'settled') {
    const result = outcome.isRepeated ? RESULTS.duplicate : RESULTS.accepted
    return [numberField(2, result), partsField(4, outcome.paidFrom)]
  }
  if (outcome.kind === 'buffered') return [numberField(2, RESULTS.buffered)]
  const refused = [numberField(2, RESULTS.refused), textField(3, codeOf(outcome))]
  return outcome.kind === 'refused' ? [...refused, shortageField(5, outcome.shortage)] : refused
}

function partsField(number: number, parts: Readonly<Parts>): ProtoField {
  const { allowance, grants, credits, overdraft, unpaid } = parts
  return messageField(
    number,
    ...[allowance, grants, credits, overdraft, unpaid].map((amount, i) => numberField(i + 1, amount)),
  )
}

function balanceField(number: number, { available, held, debt, period }: Balance): ProtoField {
  const { startMs, endMs } = period
  const rest = [held, debt, startMs, endMs].map((value, i) => numberField(i + 2, value))
  return messageField(number, partsField(1, available), ...rest)
}

function shortageField(number: number, { needed, available, ranOut, renewsAtMs = 0 }: Shortage): ProtoField {
  return messageField(
    number,
    numberField(1, needed),
    partsField(2, available),
    ...ranOut.map((part) => textField(3, part)),
    numberField(4, renewsAtMs),
  )
}
