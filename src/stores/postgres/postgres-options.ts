/** How counters are kept in PostgreSQL. */
export interface PostgresOptions {
  /** The table, with its schema if it is not the first of the search path. It is made when it is missing. Default: `sluice_counters`. */
  readonly table?: string
  /**
   * True: counters survive a crash of the server, and are on its standbys; each write goes through the log of the
   * server. Default: false, an unlogged table, which is empty after a crash or a failover. It is for making the table.
   */
  readonly logged?: boolean
  /** How long PostgreSQL may take where a limit or a rule does not say. Default: 10 to 250, by how fast its answers were. */
  readonly timeoutMs?: number
  /** What metrics and logs call it. Default: `postgres`. */
  readonly name?: string
}
