import type { ErrorCode } from 'sluice/internal/core/errors'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Field, Schema } from 'sluice/internal/core/schema/schema'
import { ID, named, object, optional, pageOf, REASON } from '../../records/forms.ts'
import type { Given, RecordTable } from '../../records/record-table.ts'
import { type QuotaRecords, type QuotaTable, RECORD_TABLES } from '../../records/tables.ts'
import type { Role } from '../tokens/table.ts'
import type { InForce } from './change.ts'
import { changedAnswer, REMOVED, statingInForce } from './in-force.ts'
import {
  type AnswerForm,
  type AnyOperation,
  type Call,
  type Change,
  operation,
  type PathParam,
  type QueryParam,
  type Reply,
} from './operation.ts'
import { RECORDS } from './parts.ts'
import { answered, load, pageReply, proposed, recordReply, requireVersion } from './records.ts'
import { unknownRecord } from './values.ts'

/** A RecordCall is a request about records, after its form was checked. */
export type RecordCall = Omit<Call, 'params' | 'query' | 'body'> & {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | undefined>> & { readonly page_size?: number }
  readonly body: Given
}

type Params = Readonly<Record<string, PathParam>>
type Fields = Readonly<Record<string, Field>>
type MaybePromise<T> = T | Promise<T>

/** A RecordKind is what the operations of one kind of record have in common. */
export interface RecordKind<T extends QuotaTable> {
  readonly table: T
  readonly tag: string
  /** Of the list. One record is below it, at its id. */
  readonly path: string
  readonly params?: Params
  /** What names one record: parameters of a path, in order, below `path`. */
  readonly one: Params
  /** The id of the record that the parameters name. Default: the only one of them. */
  idOf?(params: Readonly<Record<string, string>>): string
  /** Resolves with whether a record is one of those below the path of a request. Default: they all are. */
  owns?(record: QuotaRecords[T], call: RecordCall): MaybePromise<boolean>
}

/** What each operation says of itself. */
interface Described {
  readonly id: string
  readonly summary: string
  readonly role?: Role
  /** Added to the ones of every operation of its kind. */
  readonly errors?: readonly ErrorCode[]
}

interface Listing extends Described {
  readonly query?: Readonly<Record<string, QueryParam>>
  /** What the list is narrowed by. A parameter `search` is taken without it. */
  where?(call: RecordCall): MaybePromise<Readonly<Record<string, string | undefined>>>
}

/** What the making of a record needs beyond its table. */
interface Writing<Rec> extends Described {
  /** The name of the form of the body, in OpenAPI. */
  readonly form: string
  /** The name of the answer, if it says which rules the change is in force on. */
  readonly answer?: string
  /** Fields of the body that the table does not have. */
  readonly sent?: Fields
  /** What the path and the service say of the record: the body has the rest. */
  fixed?(call: RecordCall): MaybePromise<Partial<Rec>>
  /** Throws for a record that must not be, or returns what throws where it would be in force on too much. */
  check?(call: RecordCall, after: Rec, before: Rec | undefined): MaybePromise<((inForce: InForce) => void) | undefined>
}

interface Creation<Rec> extends Omit<Writing<Rec>, 'fixed'> {
  /** What is answered this once, in addition to the record. */
  readonly answered?: Fields
  /** What the path and the service say of the new record, and what is shown this once. */
  fixed(call: RecordCall): MaybePromise<{ readonly fields: Partial<Rec>; readonly shown?: object }>
}

interface Putting<Rec> extends Omit<Writing<Rec>, 'fixed' | 'check'> {
  /** What the path says of the record, and what of the body is kept in another form. */
  record(call: RecordCall): Partial<Rec>
  /** A record that is there is replaced only by callers that name the version that they have seen. */
  readonly needsVersion?: true
}

interface Removal<Rec> extends Described {
  readonly ifMatch?: 'required' | 'optional'
  /** The answer says which rules the change is in force on. */
  readonly statesRules?: true
  /** The record is named by parameters of the query, at the path of the list, or at `path`. */
  readonly query?: Readonly<Record<string, QueryParam>>
  readonly path?: string
  idOf?(query: RecordCall['query']): string
  /** What the record becomes, if it is not taken away. */
  kept?(call: RecordCall, before: Rec): Rec
}

/** RecordOperations are list, read, create, replace, change, put and remove, for one kind of record. */
export class RecordOperations<T extends QuotaTable> {
  readonly #kind: RecordKind<T>
  readonly #table: RecordTable<QuotaRecords[T]>

  constructor(kind: RecordKind<T>) {
    this.#kind = kind
    this.#table = RECORD_TABLES[kind.table] as unknown as RecordTable<QuotaRecords[T]>
  }

  /** Returns the parameters of the path of one record. */
  get params(): Params {
    return { ...this.#kind.params, ...this.#kind.one }
  }

  list({ where, query = {}, ...described }: Listing): AnyOperation {
    const { table, params = {}, path } = this.#kind
    return operation({
      kind: 'look',
      ...this.#common(described, 'viewer'),
      method: 'GET',
      path,
      params,
      query,
      isPaged: true,
      answer: { status: 200, schema: pageOf(this.#table.answer) },
      run: async (given) => {
        const call = given as unknown as RecordCall
        const { page_size = DEFAULT_PAGE_SIZE, search } = call.query
        const narrowed = Object.entries((await where?.(call)) ?? {}).filter(([, value]) => value !== undefined)
        const page = await call.parts.get(RECORDS).list(table, {
          where: Object.fromEntries(narrowed) as Record<string, string>,
          search,
          after: call.cursor.after,
          limit: page_size,
        })
        return pageReply(call, page, (record) => answered(call, table, record))
      },
    })
  }

  read(described: Described): AnyOperation {
    return operation({
      kind: 'look',
      ...this.#common(described, 'viewer', ['RECORD_UNKNOWN']),
      method: 'GET',
      path: this.#onePath(),
      params: this.params,
      answer: { status: 200, schema: this.#table.answer, etag: true },
      run: async (call) => recordReply(call, this.#kind.table, await this.find(call as unknown as RecordCall)),
    })
  }

  create(spec: Creation<QuotaRecords[T]>): AnyOperation {
    const { path, params = {} } = this.#kind
    return operation({
      kind: 'change',
      ...this.#common(spec, 'operator'),
      method: 'POST',
      path,
      params,
      body: this.#body(spec, 'whole'),
      isCreation: true,
      answer: { status: 201, schema: this.#changed(spec, spec.answered), etag: true },
      plan: async (given) => {
        const call = given as unknown as RecordCall
        const { fields, shown } = await spec.fixed(call)
        const making = { id: (fields as { id?: string }).id ?? '', nowMs: call.nowMs }
        const record = this.#table.made(call.body, making, fields)
        const planned = await this.#creation(call, record, shown)
        return stated(call, spec.answer, planned, await spec.check?.(call, record, undefined))
      },
    })
  }

  /** Plans a record in place of the one that there is: what is not sent is as in a new one. */
  replace(spec: Writing<QuotaRecords[T]>): AnyOperation {
    return this.#rewriting(spec, 'PUT', 'whole', (call, before, fixed) =>
      this.#table.replaced(call.body, before, { id: this.#idOf(call.params), nowMs: call.nowMs }, fixed),
    )
  }

  /** Plans a change of some fields: null takes a value away. */
  change(spec: Writing<QuotaRecords[T]>): AnyOperation {
    return this.#rewriting(spec, 'PATCH', 'change', (call, before) => this.#table.changed(call.body, before))
  }

  #rewriting(
    spec: Writing<QuotaRecords[T]>,
    method: 'PUT' | 'PATCH',
    sent: 'whole' | 'change',
    rewritten: (call: RecordCall, before: QuotaRecords[T], fixed: Partial<QuotaRecords[T]>) => QuotaRecords[T],
  ): AnyOperation {
    return operation({
      kind: 'change',
      ...this.#common(spec, 'operator', ['RECORD_UNKNOWN']),
      method,
      path: this.#onePath(),
      params: this.params,
      body: this.#body(spec, sent),
      ifMatch: 'required',
      answer: { status: 200, schema: this.#changed(spec), etag: true },
      plan: async (given) => {
        const call = given as unknown as RecordCall
        const before = await this.find(call)
        requireVersion(call, before.version)
        const fixed = ((await spec.fixed?.(call)) ?? {}) as Partial<QuotaRecords[T]>
        const after = rewritten(call, before, fixed)
        const planned = this.#replacement(call, before, after)
        return stated(call, spec.answer, planned, await spec.check?.(call, after, before))
      },
    })
  }

  /** Plans a record at an id that the request names, whether there is one or not. */
  put(spec: Putting<QuotaRecords[T]>): AnyOperation {
    const { path, params = {}, one } = this.#kind
    const isAtList = Object.keys(one).length === 0
    return operation({
      kind: 'change',
      ...this.#common(spec, 'operator'),
      method: 'PUT',
      path: isAtList ? path : this.#onePath(),
      params: isAtList ? params : this.params,
      body: this.#body(spec, 'whole'),
      ifMatch: 'optional',
      answer: { status: 200, schema: this.#changed(spec), etag: true },
      plan: async (given) => {
        const call = given as unknown as RecordCall
        const record = { ...this.#table.made(call.body, { id: '', nowMs: call.nowMs }, {}), ...spec.record(call) }
        return stated(call, spec.answer, await this.upsert(call, record, spec.needsVersion))
      },
    })
  }

  /** Plans to put a record, whether there is one or not. */
  async upsert(call: RecordCall, record: QuotaRecords[T], needsVersion = false): Promise<Change> {
    const id = this.#table.idOf(record)
    const before = await call.parts.get(RECORDS).get(this.#kind.table, id)
    if (before === undefined) return this.#creation(call, record)
    if (needsVersion && call.request.headers['if-match'] === undefined) {
      throw new SluiceError('VERSION_REQUIRED', 'if-match', `missing, and there is a record ${id}`)
    }
    requireVersion(call, before.version)
    return this.#replacement(call, before, { ...record, version: before.version })
  }

  remove(spec: Removal<QuotaRecords[T]>): AnyOperation {
    const { path, params = {}, table } = this.#kind
    const { query, idOf, ifMatch = 'required', statesRules, kept } = spec
    const plain =
      kept === undefined ? ({ status: 204 } as const) : { status: 200, schema: this.#table.answer, etag: true }
    return operation({
      kind: 'change',
      ...this.#common(spec, 'operator', ['RECORD_UNKNOWN']),
      method: 'DELETE',
      path: query === undefined ? this.#onePath() : (spec.path ?? path),
      params: query === undefined ? this.params : params,
      ...(query && { query }),
      ifMatch,
      answer: statesRules ? { status: 200, schema: REMOVED } : (plain as AnswerForm),
      plan: async (given) => {
        const call = given as unknown as RecordCall
        const before = idOf === undefined ? await this.find(call) : await load(call, table, idOf(call.query))
        requireVersion(call, before.version)
        if (kept !== undefined) return this.#replacement(call, before, kept(call, before))
        const id = this.#table.idOf(before)
        const commit = async (by = call.by) => {
          await call.parts.get(RECORDS).remove(table, id, by, call.version)
          return {}
        }
        return stated(call, statesRules, { changes: [proposed(table, id, before, undefined)], commit })
      },
    })
  }

  /** Resolves with the record that a path names, or throws RECORD_UNKNOWN: also for one that is not below that path. */
  async find(call: RecordCall): Promise<QuotaRecords[T]> {
    const { table, owns } = this.#kind
    const id = this.#idOf(call.params)
    const found = await load(call, table, id)
    if (owns !== undefined && !(await owns(found, call))) throw unknownRecord(table, id)
    return found
  }

  /** Throws RECORD_EXISTS where the id is taken: immediately, or when another request was faster. */
  async #creation(call: RecordCall, record: QuotaRecords[T], shown?: object): Promise<Change> {
    const { table } = this.#kind
    const id = this.#table.idOf(record)
    const records = call.parts.get(RECORDS)
    if ((await records.get(table, id)) !== undefined) throw taken(table, id)
    return {
      changes: [proposed(table, id, undefined, record)],
      commit: async (by = call.by) => {
        try {
          const reply = this.#reply(call, await records.put(table, record, by, 0))
          return { ...reply, body: { ...(reply.body as object), ...shown } }
        } catch (error) {
          throw error instanceof SluiceError && error.code === 'VERSION_STALE' ? taken(table, id) : error
        }
      },
    }
  }

  /** The version that the caller has seen is compared twice: in the plan, and by the store. */
  #replacement(call: RecordCall, before: QuotaRecords[T], after: QuotaRecords[T]): Change {
    const { table } = this.#kind
    return {
      changes: [proposed(table, this.#table.idOf(before), before, after)],
      commit: async (by = call.by) =>
        this.#reply(call, await call.parts.get(RECORDS).put(table, after, by, call.version)),
    }
  }

  #reply(call: RecordCall, record: QuotaRecords[T]): Reply {
    return recordReply(call, this.#kind.table, record)
  }

  #idOf(params: Readonly<Record<string, string>>): string {
    const { idOf, one } = this.#kind
    return idOf === undefined ? params[Object.keys(one)[0]] : idOf(params)
  }

  #onePath(): string {
    return [this.#kind.path, ...Object.keys(this.#kind.one).map((name) => `{${name}}`)].join('/')
  }

  #common({ id, summary, role, errors = [] }: Described, least: Role, more: readonly ErrorCode[] = []) {
    return { id, summary, tag: this.#kind.tag, role: role ?? least, errors: [...more, ...errors] }
  }

  /** The body has what callers write of the table, and the reason for the audit log. */
  #body({ form, sent = {} }: Pick<Writing<unknown>, 'form' | 'sent'>, fields: 'whole' | 'change'): Schema {
    const own = this.#table.sent[fields]
    return named(form, object({ ...own, ...sent, ...('reason' in own ? {} : { reason: REASON_FIELD }) }))
  }

  #changed({ answer }: Pick<Writing<unknown>, 'answer'>, more: Fields = {}): Schema {
    const { answer: plain, answerFields } = this.#table
    return answer === undefined ? plain : changedAnswer(answer, { ...answerFields, ...more })
  }
}

const DEFAULT_PAGE_SIZE = 50
const REASON_FIELD = optional(REASON, 'why; for the audit log')

/** Returns the parameter that names one record by its id. */
export const idParam = (name: string, doc: string): Params => ({ [name]: { schema: ID, doc } })

function stated(call: RecordCall, states: unknown, change: Change, check?: (inForce: InForce) => void) {
  return states === undefined ? change : statingInForce(call, change, check)
}

function taken(table: QuotaTable, id: string): SluiceError {
  return new SluiceError('RECORD_EXISTS', table, `${JSON.stringify(id)} is there`)
}
