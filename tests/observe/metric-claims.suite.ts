const onBothNodes = (expression: string): string => `count(${expression}) == 2`
const grows = (series: string): string => onBothNodes(`sum by (instance) (${series}) > 0`)

const withoutDatabase = (metric: string) =>
  [metric, 'nodes without a database do not report it', `absent(${metric})`] as const

/** What must be true of each metric in the end: an expression that finds something then. */
export const CLAIMS: readonly (readonly [metric: string, claim: string, expression: string])[] = [
  ['ratelimit_decisions_total', 'rules admit', grows('ratelimit_decisions_total{domain="api",outcome="allowed"}')],
  [
    'ratelimit_decisions_total',
    'rules refuse at every door',
    'count(sum by (door) (ratelimit_decisions_total{rule="user",outcome="denied"}) > 0) == 3',
  ],
  [
    'ratelimit_decisions_total',
    'a shadow rule refuses no one',
    grows('ratelimit_decisions_total{rule="shadow",outcome="shadow_denied"}'),
  ],
  [
    'ratelimit_decisions_total',
    'rules admit without the store',
    grows('ratelimit_decisions_total{rule="open",outcome="fallback_allowed"}'),
  ],
  [
    'ratelimit_decisions_total',
    'rules refuse without the store',
    grows('ratelimit_decisions_total{rule="closed",outcome="fallback_denied"}'),
  ],
  [
    'ratelimit_requests_total',
    'each outcome is counted',
    'count(sum by (outcome) (ratelimit_requests_total) > 0) == 3',
  ],
  ['ratelimit_requests_total', 'each door is counted', 'count(sum by (door) (ratelimit_requests_total) > 0) == 3'],
  ['ratelimit_denied_total', 'the rule that refuses grows', grows('ratelimit_denied_total{domain="api",rule="user"}')],
  ['ratelimit_denied_total', 'a rule that admits everybody stays', 'ratelimit_denied_total{rule="open"} == 0'],
  [
    'ratelimit_shadow_denied_total',
    'only the shadow rule grows',
    'sum(ratelimit_shadow_denied_total{rule!="shadow"}) == 0 < sum(ratelimit_shadow_denied_total)',
  ],
  [
    'ratelimit_hits_total',
    'no more than the limit is charged, once in each life of Redis',
    'sum(ratelimit_hits_total{rule="user"}) <= 10 > 0',
  ],
  ['ratelimit_hits_total', 'busy rules are charged', grows('ratelimit_hits_total{rule="leased"}')],
  [
    'ratelimit_remaining',
    'most decisions of the tier leave nearly everything',
    'sum(ratelimit_remaining_sum{tier="pro"}) / sum(ratelimit_remaining_count{tier="pro"}) > 0.9',
  ],
  [
    'ratelimit_remaining',
    'callers who are refused have nothing left',
    'sum(ratelimit_remaining_bucket{tier="none",le=~"0|0.0"}) > 0',
  ],
  [
    'ratelimit_check_duration_seconds',
    'every door has times',
    'count(sum by (door) (ratelimit_check_duration_seconds_count) > 0) == 3',
  ],
  [
    'ratelimit_check_duration_seconds',
    'as many times as requests',
    'sum(ratelimit_check_duration_seconds_count) == sum(ratelimit_requests_total)',
  ],
  [
    'ratelimit_redis_duration_seconds',
    'calls take less than a second each',
    'sum(ratelimit_redis_duration_seconds_sum) < sum(ratelimit_redis_duration_seconds_count)',
  ],
  [
    'ratelimit_redis_errors_total',
    'calls to a Redis that hangs fail',
    grows('ratelimit_redis_errors_total{reason="timeout"}'),
  ],
  [
    'ratelimit_redis_batch_decisions',
    'a call carries one decision or more',
    'sum(ratelimit_redis_batch_decisions_sum) >= sum(ratelimit_redis_batch_decisions_count) > 0',
  ],
  [
    'ratelimit_failopen_total',
    'the rule that says so fails open',
    grows('ratelimit_failopen_total{domain="api",rule="open"}'),
  ],
  ['ratelimit_failopen_total', 'no other does', 'sum(ratelimit_failopen_total{rule!="open"}) == 0'],
  ['ratelimit_fallback_total', 'every mode answered', 'count(sum by (mode) (ratelimit_fallback_total) > 0) == 3'],
  [
    'ratelimit_redis_deadline_seconds',
    'it is what the setting says',
    onBothNodes('ratelimit_redis_deadline_seconds == 0.25'),
  ],
  ['ratelimit_circuit_state', 'it was open', onBothNodes('max_over_time(ratelimit_circuit_state[5m]) == 2')],
  [
    'ratelimit_circuit_state',
    'it was closed before, and is again',
    onBothNodes('ratelimit_circuit_state == 0 and changes(ratelimit_circuit_state[5m]) >= 2'),
  ],
  [
    'ratelimit_renewals_total',
    'no one holds a permit for long',
    onBothNodes('sum by (instance) (ratelimit_renewals_total) == 0'),
  ],
  [
    'ratelimit_shed_total',
    'nothing is shed in shadow mode',
    onBothNodes('sum by (instance) (ratelimit_shed_total{mode="on"}) == 0'),
  ],
  [
    'ratelimit_worker_utilization',
    'every worker reports how busy it is',
    'count(ratelimit_worker_utilization >= 0) == 4',
  ],
  ['ratelimit_shed_share', 'every worker reports it for three priorities', 'count(ratelimit_shed_share <= 1) == 12'],
  ...['limit', 'in_flight', 'waiting'].map(
    (what) =>
      [
        `ratelimit_upstream_${what}`,
        'a service reports nothing of upstreams',
        `absent(ratelimit_upstream_${what})`,
      ] as const,
  ),
  ['ratelimit_ceiling_refused_total', 'a service has no ceiling', 'absent(ratelimit_ceiling_refused_total)'],
  ['ratelimit_unmatched_total', 'both reasons are distinguished', 'count(ratelimit_unmatched_total > 0) == 4'],
  [
    'ratelimit_config_loads_total',
    'the fixed rules were loaded',
    onBothNodes('changes(ratelimit_config_loads_total[5m]) == 1'),
  ],
  [
    'ratelimit_config_refusals_total',
    'the wrong rules were refused',
    onBothNodes('changes(ratelimit_config_refusals_total[5m]) >= 1'),
  ],
  ['ratelimit_config_info', 'both nodes have the same rules', 'count(count by (version) (ratelimit_config_info)) == 1'],
  [
    'ratelimit_config_info',
    'which are others than at first',
    'count(count by (version) (count_over_time(ratelimit_config_info[5m]))) == 2',
  ],
  [
    'ratelimit_config_loaded_timestamp_seconds',
    'it is the time of the last load',
    onBothNodes('time() - ratelimit_config_loaded_timestamp_seconds < 120 > 0'),
  ],
  [
    'ratelimit_config_last_refused_timestamp_seconds',
    'the refusal was before it',
    onBothNodes('ratelimit_config_last_refused_timestamp_seconds < ratelimit_config_loaded_timestamp_seconds'),
  ],
  [
    'ratelimit_config_last_load_successful',
    'it fell to 0, and is 1',
    onBothNodes(
      'min_over_time(ratelimit_config_last_load_successful[5m]) == 0 and ratelimit_config_last_load_successful == 1',
    ),
  ],
  [
    'ratelimit_config_rules',
    'one rule was added',
    onBothNodes('delta(ratelimit_config_rules[5m]) > 0 and ratelimit_config_rules == 9'),
  ],
  [
    'ratelimit_rules_source_age_seconds',
    'an address that fails now and then is never away for long',
    onBothNodes('max_over_time(ratelimit_rules_source_age_seconds[5m]) < 60'),
  ],
  [
    'ratelimit_rules_source_last_success_timestamp_seconds',
    'it was read a moment ago',
    onBothNodes('time() - ratelimit_rules_source_last_success_timestamp_seconds < 60'),
  ],
  ['ratelimit_rules_source_failures_total', 'failures are counted', grows('ratelimit_rules_source_failures_total')],
  ['ratelimit_limit', 'it is the limit', 'max(ratelimit_limit{domain="api",rule="user"}) == 5'],
  ['ratelimit_limit_window_seconds', 'it is a day', 'max(ratelimit_limit_window_seconds{rule="user"}) == 86400'],
  [
    'ratelimit_slices_held',
    'both nodes hold slices at some time',
    onBothNodes('max_over_time(ratelimit_slices_held[5m]) > 0'),
  ],
  [
    'ratelimit_slices_budget_held',
    'with budget in them',
    onBothNodes('max_over_time(ratelimit_slices_budget_held[5m]) > 0'),
  ],
  ['ratelimit_slices_exchanges_total', 'slices are exchanged', grows('ratelimit_slices_exchanges_total')],
  ['ratelimit_slices_evicted_total', 'there is room for all', onBothNodes('ratelimit_slices_evicted_total == 0')],
  ['ratelimit_slices_recalls_total', 'it is reported', onBothNodes('ratelimit_slices_recalls_total >= 0')],
  ['ratelimit_sampled_counters', 'one is kept', onBothNodes('max_over_time(ratelimit_sampled_counters[5m]) > 0')],
  ['ratelimit_sampled_dropping', 'it is reported', onBothNodes('ratelimit_sampled_dropping >= 0')],
  ['ratelimit_sampled_reports_total', 'rates are reported', grows('ratelimit_sampled_reports_total')],
  ['ratelimit_sampled_failures_total', 'Redis hangs', grows('ratelimit_sampled_failures_total')],
  [
    'ratelimit_memory_keys',
    'without the store, counters are in memory',
    onBothNodes('max_over_time(ratelimit_memory_keys[5m]) > 0'),
  ],
  ['ratelimit_memory_evicted_total', 'there is room for all', onBothNodes('ratelimit_memory_evicted_total == 0')],
  ['ratelimit_memory_shared_total', 'none is shared', onBothNodes('ratelimit_memory_shared_total == 0')],
  [
    'ratelimit_hot_keys_detected_total',
    'each rule has a series from the start',
    onBothNodes('min by (instance) (ratelimit_hot_keys_detected_total) == 0'),
  ],
  [
    'ratelimit_keys_exhausted',
    'no key was without budget for five minutes',
    onBothNodes('sum by (instance) (ratelimit_keys_exhausted) == 0'),
  ],
  withoutDatabase('ratelimit_quotas_records'),
  withoutDatabase('ratelimit_quotas_in_force'),
  withoutDatabase('ratelimit_quotas_revision'),
  withoutDatabase('ratelimit_quotas_age_seconds'),
  withoutDatabase('ratelimit_quotas_passed_over_total'),
  withoutDatabase('ratelimit_database_up'),
  withoutDatabase('ratelimit_database_errors_total'),
  withoutDatabase('ratelimit_ledger_buffering'),
  withoutDatabase('ratelimit_ledger_waiting'),
  withoutDatabase('ratelimit_ledger_lost_total'),
  withoutDatabase('ratelimit_ledger_drift'),
  withoutDatabase('ratelimit_usage_rows_written_total'),
  withoutDatabase('ratelimit_usage_dropped_total'),
  withoutDatabase('ratelimit_usage_waiting_rows'),
  withoutDatabase('ratelimit_usage_waiting_seconds'),
  withoutDatabase('ratelimit_webhook_deliveries_total'),
  withoutDatabase('ratelimit_audit_sink_entries_total'),
  withoutDatabase('ratelimit_audit_sink_lag'),
  withoutDatabase('ratelimit_audit_anchor_ok'),
  [
    'ratelimit_grpc_connections',
    'there were two on each node',
    onBothNodes('max_over_time(ratelimit_grpc_connections[5m]) == 2'),
  ],
  [
    'ratelimit_grpc_calls_total',
    'as many as were decided',
    'sum(ratelimit_grpc_calls_total{status="ok"}) == sum(ratelimit_requests_total{door=~"rls|grpc"})',
  ],
  ['ratelimit_grpc_closed_total', 'no client broke a rule', 'sum(ratelimit_grpc_closed_total) == 0'],
  [
    'ratelimit_eventloop_delay_seconds',
    'every worker reports it',
    'count(ratelimit_eventloop_delay_seconds{worker=~"1|2"} >= 0) == 12',
  ],
  [
    'ratelimit_gc_duration_seconds',
    'every worker reports it',
    'count(ratelimit_gc_duration_seconds_count{worker=~"1|2"} > 0) == 4',
  ],
  ['ratelimit_workers', 'all are ready', onBothNodes('ratelimit_workers{state="ready"} == 2')],
  ['ratelimit_workers', 'none is missing', onBothNodes('ratelimit_workers{state="starting"} == 0')],
  [
    'ratelimit_build_info',
    'both nodes say what they are',
    onBothNodes('ratelimit_build_info{version!="",node!=""} == 1'),
  ],
  ['process_cpu_seconds_total', 'all processes work', 'count(increase(process_cpu_seconds_total[5m]) > 0) == 6'],
  ['process_resident_memory_bytes', 'all processes have memory', 'count(process_resident_memory_bytes > 1e7) == 6'],
  ['process_open_fds', 'all processes have files open', 'count(process_open_fds > 3) == 6'],
  [
    'process_start_time_seconds',
    'all processes started just now',
    'count(time() - process_start_time_seconds < 300 > 0) == 6',
  ],
  [
    'nodejs_heap_used_bytes',
    'it is less than all memory',
    'count(nodejs_heap_used_bytes < process_resident_memory_bytes) == 6',
  ],
]
