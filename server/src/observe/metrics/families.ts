/** A Merging says what several processes make of one series: their sum, the highest, or one series for each worker. */
export type Merging = 'sum' | 'max' | 'worker'

/** One metric: its Prometheus name, and everything that is known about it before anything is counted. */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly help: string
  readonly merging: Merging
  /** histogram: the upper bounds of its buckets, without +Inf. */
  readonly bounds?: readonly number[]
}

/** The bounds of times, in seconds: a decision from memory takes 10 µs, one through Redis 1 ms. */
const SECONDS = [25e-6, 50e-6, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1] as const
export const SHARES = [0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1] as const
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128] as const

const counter = (name: string, help: string): Family => ({ name, type: 'counter', help, merging: 'sum' })
const sum = (name: string, help: string): Family => ({ name, type: 'gauge', help, merging: 'sum' })
const max = (name: string, help: string): Family => ({ name, type: 'gauge', help, merging: 'max' })
const ofWorker = (name: string, help: string): Family => ({ name, type: 'gauge', help, merging: 'worker' })
const histogram = (name: string, help: string, bounds: readonly number[]): Family => {
  return { name, type: 'histogram', help, merging: 'sum', bounds }
}

/** Every metric, in the order in which they are printed. docs/observability.md has a row for each. */
export const FAMILIES: readonly Family[] = [
  counter('ratelimit_decisions_total', 'Verdicts of rules, by outcome and door.'),
  counter('ratelimit_requests_total', 'Whole decisions, by outcome and door.'),
  counter('ratelimit_denied_total', 'Requests that a rule refused.'),
  counter('ratelimit_shadow_denied_total', 'Requests that a rule in shadow mode would have refused.'),
  counter('ratelimit_hits_total', 'Cost charged to a rule.'),
  histogram('ratelimit_remaining', 'Share of the limit that remains after a decision.', SHARES),
  histogram('ratelimit_check_duration_seconds', 'Duration of a decision, including the store.', SECONDS),
  histogram('ratelimit_redis_duration_seconds', 'Duration of a call to Redis.', SECONDS),
  counter('ratelimit_redis_errors_total', 'Calls to Redis that failed.'),
  histogram('ratelimit_redis_batch_decisions', 'Decisions per call to Redis.', BATCHES),
  counter('ratelimit_failopen_total', 'Decisions that a rule admitted without counting.'),
  counter('ratelimit_fallback_total', 'Verdicts reached without the store, by the policy of the rule and the reason.'),
  max(
    'ratelimit_redis_deadline_seconds',
    'How long decisions wait for a server where nothing says it: the longest of all workers.',
  ),
  max('ratelimit_circuit_state', 'Circuit breaker of a server: 0 closed, 1 half open, 2 open or not connected.'),
  counter('ratelimit_renewals_total', 'Renewals of permits of concurrency rules, by result.'),
  counter('ratelimit_shed_total', 'Requests that a layer shed, or would have shed in shadow mode.'),
  counter('ratelimit_ceiling_refused_total', 'Requests above the ceiling of a process of the gateway.'),
  ofWorker('ratelimit_worker_utilization', 'Utilization of a worker, where 1 is fully used.'),
  ofWorker(
    'ratelimit_shed_share',
    'Share of the requests of a priority that a worker sheds, or would shed in shadow mode.',
  ),
  ofWorker(
    'ratelimit_upstream_limit',
    'Concurrent requests that a worker allows to an upstream address, as found by its adaptive limit.',
  ),
  ofWorker('ratelimit_upstream_in_flight', 'Requests waiting for the answer of an upstream address.'),
  ofWorker('ratelimit_upstream_waiting', 'Requests queued for an upstream address.'),
  counter('ratelimit_unmatched_total', 'Requests or descriptors that no rule matches.'),
  counter('ratelimit_config_loads_total', 'Rule sets that were put in force.'),
  counter('ratelimit_config_refusals_total', 'Rule sets that were refused.'),
  max('ratelimit_config_info', 'The rule set in force, by a hash of its content.'),
  max('ratelimit_config_loaded_timestamp_seconds', 'When the rules in force were loaded.'),
  max('ratelimit_config_last_refused_timestamp_seconds', 'When rules were last refused, or 0 for never.'),
  max('ratelimit_config_last_load_successful', 'Whether the last rules read are in force.'),
  max('ratelimit_config_rules', 'Rules in force.'),
  max('ratelimit_rules_source_age_seconds', 'Time since remote rules were last known to match the rules in force.'),
  max(
    'ratelimit_rules_source_last_success_timestamp_seconds',
    'When remote rules were last known to match the rules in force, or 0 for never.',
  ),
  counter('ratelimit_rules_source_failures_total', 'Reads of remote rules that failed or were refused.'),
  max('ratelimit_limit', 'Requests that a rule admits in its window.'),
  max('ratelimit_limit_window_seconds', 'The window of a rule.'),
  sum('ratelimit_slices_held', 'Slices of leased budgets that the node holds.'),
  sum('ratelimit_slices_budget_held', 'Budget in these slices.'),
  counter('ratelimit_slices_exchanges_total', 'Requests to Redis about slices.'),
  counter('ratelimit_slices_evicted_total', 'Slices that were evicted to make room for others.'),
  counter('ratelimit_slices_recalls_total', 'Slices that another node recalled.'),
  sum('ratelimit_sampled_counters', 'Counters of sampled rules that the node keeps.'),
  sum('ratelimit_sampled_dropping', 'Counters of sampled rules that drop a share of their hits.'),
  counter('ratelimit_sampled_reports_total', 'Reports of rates to Redis.'),
  counter('ratelimit_sampled_failures_total', 'Reports of rates without an answer.'),
  sum('ratelimit_peers', 'Other nodes that counters are shared with.'),
  sum('ratelimit_peers_reachable', 'Those of them that answered last.'),
  sum('ratelimit_peers_partitions_held', 'Partitions, of 256, whose counters the node has.'),
  counter('ratelimit_peers_partitions_given_total', 'Partitions handed over to another node.'),
  counter('ratelimit_peers_partitions_received_total', 'Partitions taken over from another node.'),
  counter('ratelimit_peers_partitions_lost_total', 'Partitions whose node ended without handing them over.'),
  counter('ratelimit_peers_asked_total', 'Decisions that the node had another one make.'),
  counter('ratelimit_peers_answered_total', 'Decisions that the node made for others.'),
  sum('ratelimit_memory_keys', 'Counters in memory.'),
  counter('ratelimit_memory_evicted_total', 'Counters in memory that were evicted before they expired.'),
  counter('ratelimit_memory_shared_total', 'Decisions of new keys that share a counter in memory.'),
  counter('ratelimit_hot_keys_detected_total', 'Times that a single key took an unusual share of a rule.'),
  sum('ratelimit_keys_exhausted', 'Tracked keys without budget for five minutes or longer.'),
  max('ratelimit_quotas_records', 'Records that the node holds, by table.'),
  max(
    'ratelimit_quotas_in_force',
    '1: every process of the node decides by the records that the database had at its start; 0: not yet.',
  ),
  max('ratelimit_quotas_revision', 'The last change of quotas that is in force.'),
  max(
    'ratelimit_quotas_age_seconds',
    'How long the quotas in force could not be compared with the database, or 0 while they can.',
  ),
  counter(
    'ratelimit_quotas_passed_over_total',
    'Stored tiers and overrides that result in no limit under the rules in force, by table.',
  ),
  max('ratelimit_database_up', 'Whether the database answers.'),
  counter('ratelimit_database_errors_total', 'Transactions that failed because of the database.'),
  max('ratelimit_ledger_buffering', 'Whether the ledger keeps operations on the disk of the node.'),
  sum('ratelimit_ledger_waiting', 'Operations of the ledger that are confirmed and not booked.'),
  max('ratelimit_ledger_drift', 'What the ledger and usage differed by when they were last compared, by meter.'),
  counter('ratelimit_ledger_lost_total', 'Operations that were confirmed and could not be booked.'),
  counter('ratelimit_usage_rows_written_total', 'Rows of usage that were written to the database.'),
  counter('ratelimit_usage_dropped_total', 'Requests whose usage was dropped before it was written.'),
  sum('ratelimit_usage_waiting_rows', 'Rows of usage waiting to be written.'),
  max('ratelimit_usage_waiting_seconds', 'How long the oldest row of usage has waited to be written.'),
  counter('ratelimit_webhook_deliveries_total', 'Attempts to deliver a webhook, by outcome.'),
  counter('ratelimit_audit_sink_entries_total', 'Entries of the audit log that this node delivered to a sink.'),
  max('ratelimit_audit_sink_lag', 'Entries of the audit log that a sink does not have yet.'),
  max('ratelimit_audit_anchor_ok', 'Whether an anchor has the end of the audit log.'),
  sum('ratelimit_grpc_connections', 'Open gRPC connections.'),
  counter('ratelimit_grpc_calls_total', 'gRPC calls, by result.'),
  counter('ratelimit_grpc_closed_total', 'gRPC connections that the server ended, by reason.'),
  ofWorker('ratelimit_eventloop_delay_seconds', 'How late the event loop was since the last report.'),
  {
    name: 'ratelimit_gc_duration_seconds',
    type: 'summary',
    help: 'Pauses of the garbage collector.',
    merging: 'worker',
  },
  sum('ratelimit_workers', 'Worker processes, by state.'),
  max('ratelimit_build_info', 'Version and runtime of this process.'),
  { name: 'process_cpu_seconds_total', type: 'counter', help: 'Processor time.', merging: 'worker' },
  ofWorker('process_resident_memory_bytes', 'Resident memory.'),
  ofWorker('process_open_fds', 'Open file descriptors.'),
  ofWorker('process_start_time_seconds', 'When the process started.'),
  ofWorker('nodejs_heap_used_bytes', 'JavaScript heap in use.'),
]

const BY_NAME: ReadonlyMap<string, Family> = new Map(FAMILIES.map((family) => [family.name, family]))

export function familyOf(name: string): Family {
  const family = BY_NAME.get(name)
  if (family === undefined) throw new Error(`there is no metric named ${name}`)
  return family
}

/** Returns how many numbers a series has: buckets with +Inf and a sum; a sum and a count; or its value. */
export function widthOf({ type, bounds = [] }: Family): number {
  if (type === 'histogram') return bounds.length + 2
  return type === 'summary' ? 2 : 1
}
