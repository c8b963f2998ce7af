/** What a transaction offers. */
export type Sql = Pick<Database, 'query'>

/** A Database runs SQL, on PostgreSQL or PGlite alike. Values come back as JavaScript has them: 64-bit integers as numbers, jsonb parsed. */
export interface Database {
  query<Row>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>
  /** Runs `work`, and commits when it resolves. Within it only `tx` may be used. */
  transaction<T>(work: (tx: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Listens to NOTIFY on a channel. `missed` is called when notices may have been lost: read everything again. */
  listen(channel: string, heard: (payload: string) => void, missed: () => void): () => void
  close(): Promise<void>
}

/** A WholeDatabase makes one transaction of several. */
export interface WholeDatabase extends Database {
  /**
   * Runs work of which all transactions and queries, however deep, are one transaction: all of it is committed, or none. A part
   * that fails is rolled back alone, if the work goes on without it.
   */
  atomically<T>(work: () => Promise<T>): Promise<T>
  /** Runs what has to wait for the commit of what surrounds it; immediately where nothing does. */
  afterCommit(run: () => void): void
}

export interface TransactionOptions {
  /** It only reads, and all of its queries see the same moment. */
  readonly snapshot?: boolean
  /** How long one statement may take, on PostgreSQL. */
  readonly statementTimeoutMs?: number
}

/** A Page of a list, in a stable order. `next` is where the following page begins. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

/** A ListQuery narrows a list. */
export interface ListQuery {
  /**
   * Exact values of fields, such as `{ tier: 'pro' }`, `{ hash: '…' }`, or, of a subject, `{ customerId: 'acme' }`, `{ keyId: '…' }`;
   * `{ ownerId: 'acme' }` is that customer and its keys.
   */
  readonly where?: Readonly<Record<string, string>>
  /** The beginning of an id, a name or a key's prefix; customers are found by the prefixes of their keys, too. */
  readonly search?: string | undefined
  readonly after?: string | undefined
  readonly limit: number
}
