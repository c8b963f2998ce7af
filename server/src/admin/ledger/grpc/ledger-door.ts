import { SluiceError } from 'sluice/internal/core/errors'
import type { Schema } from 'sluice/internal/core/schema/schema'
import type { GrpcServer, UnaryCall } from '../../../grpc/index.ts'
import { GrpcStatus } from '../../../grpc/index.ts'
import type { Operation } from '../../../ledger/core/account-state.ts'
import type { Asked } from '../../../ledger/in-flight.ts'
import type { LedgerAnswer } from '../../../ledger/ledger-batch.ts'
import type { LedgerPort } from '../../../ledger/rules/ledger-port.ts'
import { MalformedMessage, ProtoReader } from '../../../protobuf/reader.ts'
import { object } from '../../../records/forms.ts'
import { requireForm } from '../../api/read-input.ts'
import { doneOf } from '../answers.ts'
import { COMMIT, EVENT, RELEASE, RESERVATION, WHOSE } from '../door-forms.ts'
import { decodeCall, decodeEvents, encodeAnswer, encodeResults, type LedgerCall } from './ledger-messages.ts'

/** A LedgerCaller is who calls: a token that is not checked yet, and from where. */
export interface LedgerCaller {
  readonly authorization: string
  readonly address: string
}

/** A LedgerDoorPort checks who calls, and does the operations of one request. */
export interface LedgerDoorPort {
  askAs(caller: LedgerCaller, all: readonly Asked[]): Promise<readonly LedgerAnswer[]>
}

/** What the ledger of a node does: what rules ask of it, and what callers ask. */
export type NodeLedgerPort = LedgerPort & LedgerDoorPort

const BEARER = /^Bearer +\S{1,1024}$/i
/** Calls that wait for the ledger, in a process. */
const MOST_WAITING = 10_000

// Made once: strangers may call as often as they like.
const NO_TOKEN = new SluiceError('ADMIN_TOKEN_REQUIRED', 'authorization', 'no token')

/** Has a gRPC server answer the calls of sluice.v1.Ledger (proto/sluice/v1/ledger.proto). */
export function registerLedger(
  server: GrpcServer,
  ledger: LedgerDoorPort | undefined,
  failed: (error: unknown) => void = () => {},
): void {
  const door = new LedgerDoor(ledger, failed)
  server.unary('/sluice.v1.Ledger/Reserve', (call) => door.one(call, RESERVATION, reserveOf))
  server.unary('/sluice.v1.Ledger/Commit', (call) => door.one(call, COMMIT, commitOf))
  server.unary('/sluice.v1.Ledger/Release', (call) => door.one(call, RELEASE, releaseOf))
  server.unary('/sluice.v1.Ledger/Balance', (call) => door.one(call, object(WHOSE), lookOf))
  server.unary('/sluice.v1.Ledger/Events', (call) => door.events(call))
}

/** What a message asks, in the form that the admin API has, and as an operation. */
type Reading = (call: LedgerCall) => { readonly body: object; readonly operation: Operation }

const reserveOf: Reading = ({ customer, meter, id, number: amount, more }) => ({
  body: { customer, meter, id, amount, ...(more > 0 && { hold_seconds: more }) },
  operation: { kind: 'reserve', id, amount, holdMs: more === 0 ? undefined : more * 1000 },
})
const commitOf: Reading = ({ customer, meter, id, number: used }) => ({
  body: { customer, meter, id, used },
  operation: { kind: 'commit', id, used },
})
const releaseOf: Reading = ({ customer, meter, id }) => ({
  body: { customer, meter, id },
  operation: { kind: 'release', id },
})
const lookOf: Reading = ({ customer, meter }) => ({ body: { customer, meter }, operation: { kind: 'look' } })
const eventOf: Reading = ({ customer, meter, id, number: amount, more }) => ({
  body: { customer, meter, id, amount },
  operation: { kind: 'event', id, amount, atMs: more === 0 ? undefined : more },
})

class LedgerDoor {
  readonly #ledger: LedgerDoorPort | undefined
  readonly #failed: (error: unknown) => void
  readonly #reader = new ProtoReader()
  #waiting = 0

  constructor(ledger: LedgerDoorPort | undefined, failed: (error: unknown) => void) {
    this.#ledger = ledger
    this.#failed = failed
  }

  one(call: UnaryCall, form: Schema, read: Reading): void {
    this.#answer(call, async () => {
      const asked = decodeCall(this.#reader, call.message)
      const { customer, meter } = asked
      const [answer] = await this.#ask(call, [this.#checked(asked, form, read)])
      doneOf(answer, { customer, meter })
      return encodeAnswer(answer, asked.number)
    })
  }

  events(call: UnaryCall): void {
    this.#answer(call, async () => {
      const events = decodeEvents(this.#reader, call.message)
      if (events.length === 0) throw new SluiceError('ADMIN_REQUEST_INVALID', 'events', 'there are none')
      const all = events.map((event) => this.#checked(event, EVENT, eventOf))
      return encodeResults(events, await this.#ask(call, all))
    })
  }

  #checked(asked: LedgerCall, form: Schema, read: Reading): Asked {
    const { body, operation } = read(asked)
    requireForm(form, body, 'request')
    return { customerId: asked.customer, meterId: asked.meter, operation }
  }

  async #ask({ metadata, peer }: UnaryCall, all: readonly Asked[]): Promise<readonly LedgerAnswer[]> {
    const authorization = metadata.get('authorization') ?? ''
    if (!BEARER.test(authorization)) throw NO_TOKEN
    if (this.#ledger === undefined) {
      throw new SluiceError('QUOTAS_UNAVAILABLE', 'ledger', 'the service has no database (--database)')
    }
    if (this.#waiting >= MOST_WAITING) throw new SluiceError('LEDGER_BUSY', 'ledger', `${this.#waiting} calls wait`)
    this.#waiting++
    try {
      return await this.#ledger.askAs({ authorization, address: peer.address }, all)
    } finally {
      this.#waiting--
    }
  }

  /** The message and the metadata are gone when the handler returns: `work` reads both before it waits. */
  #answer(call: UnaryCall, work: () => Promise<Uint8Array>): void {
    work().then(
      (bytes) => {
        if (!call.cancelled) call.respond(bytes)
      },
      (error: unknown) => this.#fail(call, error),
    )
  }

  #fail(call: UnaryCall, error: unknown): void {
    if (call.cancelled) return
    if (error instanceof SluiceError) call.fail(STATUSES[error.code] ?? GrpcStatus.INVALID_ARGUMENT, error.message)
    else if (error instanceof MalformedMessage) call.fail(GrpcStatus.INVALID_ARGUMENT, error.message)
    else {
      this.#failed(error)
      call.fail(GrpcStatus.INTERNAL, 'the ledger failed')
    }
  }
}

const STATUSES: Readonly<Partial<Record<string, GrpcStatus>>> = {
  ADMIN_TOKEN_REQUIRED: GrpcStatus.UNAUTHENTICATED,
  ROLE_INSUFFICIENT: GrpcStatus.PERMISSION_DENIED,
  ADMIN_RATE_LIMITED: GrpcStatus.RESOURCE_EXHAUSTED,
  RECORD_UNKNOWN: GrpcStatus.NOT_FOUND,
  LEDGER_HOLD_UNKNOWN: GrpcStatus.NOT_FOUND,
  LEDGER_HOLD_RESOLVED: GrpcStatus.FAILED_PRECONDITION,
  LEDGER_ID_REUSED: GrpcStatus.ALREADY_EXISTS,
  IDEMPOTENCY_IN_PROGRESS: GrpcStatus.ABORTED,
  LEDGER_BUSY: GrpcStatus.UNAVAILABLE,
  LEDGER_JOURNAL_FAILED: GrpcStatus.UNAVAILABLE,
  DATABASE_UNAVAILABLE: GrpcStatus.UNAVAILABLE,
  QUOTAS_UNAVAILABLE: GrpcStatus.UNAVAILABLE,
  DATABASE_FAILED: GrpcStatus.INTERNAL,
}
