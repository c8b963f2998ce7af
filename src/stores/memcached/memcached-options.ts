/** How counters are kept in Memcached. */
export interface MemcachedOptions {
  /** How long Memcached may take where a limit or a rule does not say. Default: 5 to 100, by how fast its answers were. */
  readonly timeoutMs?: number
}
