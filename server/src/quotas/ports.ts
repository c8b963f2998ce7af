import type { QuotaChange, QuotaRecords, QuotaSnapshot, QuotaTable } from './model.ts'

/** Sql is what a transaction offers. */
export type Sql = Pick<Database, 'query'>

/** A Database runs SQL, on PostgreSQL or PGlite alike. Values come back as JavaScript has them: 64-bit integers as numbers, jsonb parsed. */
export interface Database {
  query<Row>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>
  /** transaction runs `work`, and commits when it resolves. Within it only `tx` may be used. */
  transaction<T>(work: (tx: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** listen hears NOTIFY on a channel. `missed` is called when some may have been lost: read everything again. */
  listen(channel: string, heard: (payload: string) => void, missed: () => void): () => void
  close(): Promise<void>
}

export interface TransactionOptions {
  /** It only reads, and all of its queries see the same moment. */
  readonly snapshot?: boolean
  /** How long one statement may take, on PostgreSQL. */
  readonly statementTimeoutMs?: number
}

/** An Actor is who changes something, and from where. */
export interface Actor {
  /** The id of a token, or `cli`. */
  readonly id: string
  readonly name: string
  readonly address: string | undefined
  readonly reason: string | undefined
}

/** A Page of a list, in a stable order. `next` is where the following page begins. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

/**
 * A QuotaStore keeps records. Each change is made in one transaction with its audit entry and a rise of the revision, and is
 * told to every node. `version` is what the caller has seen: a change of another version throws VERSION_STALE; undefined takes any,
 * and 0 is a record that is not there yet. A version is the revision of the change, so that none comes twice for an id.
 */
export interface QuotaStore {
  snapshot(): Promise<QuotaSnapshot>
  /**
   * follow hears of changes, this node's own included, in the order of their revisions; `missed`: read a snapshot. It is called when
   * following begins, too: a snapshot read after that and the changes that come have no gap. `fault` hears why changes cannot be
   * read, and undefined when they can again.
   */
  follow(
    changed: (changes: readonly QuotaChange[]) => void,
    missed: () => void,
    fault?: (error: Error | undefined) => void,
  ): () => void
  get<T extends QuotaTable>(table: T, id: string): Promise<QuotaRecords[T] | undefined>
  put<T extends QuotaTable>(table: T, record: QuotaRecords[T], by: Actor, version?: number): Promise<QuotaRecords[T]>
  remove<T extends QuotaTable>(table: T, id: string, by: Actor, version?: number): Promise<void>
  /** changeAll makes several changes, all or none. */
  changeAll(
    changes: readonly { readonly table: QuotaTable; readonly id: string; readonly record: unknown }[],
    by: Actor,
  ): Promise<void>
  list<T extends QuotaTable>(table: T, query: ListQuery): Promise<Page<QuotaRecords[T]>>
}

/** A ListQuery narrows a list. */
export interface ListQuery {
  /** Exact values of fields, such as `{ tier: 'pro' }` or `{ customerId: 'acme' }`. */
  readonly where?: Readonly<Record<string, string>>
  /** The beginning of an id, a name or a key's prefix. */
  readonly search?: string | undefined
  readonly after?: string | undefined
  readonly limit: number
}
