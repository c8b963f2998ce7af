import { DOOR_RULES, LIMIT_RULES, OPTIONAL_RULES } from './library-error-rules.ts'

/** What the service alone can raise. */
export const SERVICE_RULES = {
  LIMITS_TOO_MANY:
    'A message of sluice.v1.Limiter may bring at most 256 limits, over all its requests. Send several messages, or define shared limits in the rules.',
  BODIES_TOO_MANY: 'Incomplete request bodies may use at most 32 MiB in total. Retry later.',
  HOT_KEYS_QUERY_INVALID:
    'Accepted parameters, each at most once: by=refused or active, minutes=1, 5, 60 or 1440, limit=1 to 200, scope=node or fleet, domain and rule.',
  BODY_TOO_LARGE: 'A request body must be at most 65536 bytes.',
  CONTENT_TYPE_INVALID: 'Send the body as JSON, with "Content-Type: application/json" (optional for /json).',
  CROSS_SITE_REQUEST: 'Only programs and pages of the same origin may send this request.',
  HOST_UNKNOWN:
    'The admin port accepts IP addresses, localhost, --admin-host and the names in --admin-names. Add the name to --admin-names.',
  RLS_REQUEST_INVALID:
    'A request to /json must be an envoy.service.ratelimit.v3.RateLimitRequest in the JSON form of protobuf.',
  TOKEN_REQUIRED:
    'Send the token set in SLUICE_TOKEN as "Authorization: Bearer TOKEN", or a client certificate over gRPC.',
  CALLER_NOT_TRUSTED:
    'Only trusted callers may refund (a cost below 0), bring limits or use the priority critical. Set SLUICE_TOKEN and send it, or start with --trust-callers.',
  LEASE_INVALID: 'Send the lease exactly as acquire returned it, to a node with the same SLUICE_SECRET.',
  RELEASE_INVALID: 'A release must be {"lease": text}.',
  RENEW_INVALID: 'A renewal must be {"leases": [text]}, with 1 to 100 leases.',
  LEASE_EXPIRED: 'A lease must be renewed before it expires and cannot be renewed after its release. Acquire again.',
  LEASE_NOT_RENEWED: 'The node could not reach the store of this lease. Try again before the lease expires.',
  TOKEN_INVALID:
    'A token must have 16 to 1024 characters: letters, digits and - . _ ~ + / =. Separate several tokens with commas.',
  FLAG_UNKNOWN: 'Run the command with --help to list its flags.',
  VARIABLE_UNKNOWN:
    'Variables that begin with SLUICE_ must be settings, as listed by sluice serve --help. Correct or unset it.',
  VARIABLE_UNSUPPORTED:
    'Unset this variable of envoyproxy/ratelimit: it would change the limits there but has no effect here (docs/migrate-from-envoy-ratelimit.md).',
  RULES_MISSING:
    'Set --rules, --rules-xds, SLUICE_RULES or, as in envoyproxy/ratelimit, RUNTIME_ROOT; or start with --examples for the example rules.',
  RULES_URL_INVALID:
    'A rules address must begin with http:// or https://. Tokens and passwords are sent only over https, or to this machine.',
  RULES_XDS_INVALID:
    'A control plane must be HOST:PORT, node metadata key=value, and headers name:value, separated by commas.',
  XDS_RESOURCE_INVALID:
    'A control plane must send messages of the type ratelimit.config.ratelimit.v3.RateLimitConfig, at most 64 levels deep, with at most 500000 descriptors and values.',
  RULES_AWAY:
    'The rules must be available in full before the service starts. Use --start-without-rules to start without them.',
  PORT_INVALID: 'A port must be a whole number from 0 to 65535; 0 picks a free one.',
  NODES_OR_RATE_INVALID: 'The value must be a whole number; --nodes must be at least 1.',
  FLAG_VALUE_MISSING: 'Give the value as --flag VALUE or --flag=VALUE.',
  CHOICE_INVALID: 'Use one of the values listed.',
  COUNT_INVALID: 'A count must be a whole number from 0 to 999999999; 0 selects the default.',
  SHARE_INVALID: 'A share must be a number from 0 to 1, such as 0.01.',
  DURATION_TOO_LONG: 'A time that the service waits for must be at most 20 days.',
  HEADER_NAME_INVALID: 'A header name must have 1 to 100 letters, digits and characters such as -.',
  CONFIG_INVALID: 'A config file must be YAML with one setting per line, such as "http_port: 8080".',
  CONFIG_KEY_UNKNOWN: 'Settings in a config file have the names of the flags in --help, with _ instead of -.',
  FILE_UNREADABLE: 'The file must exist, and the user of this process must be able to read it.',
  TAGS_INVALID: 'Tags must be key:value, separated by commas, without spaces or special characters in keys and values.',
  TLS_INCOMPLETE:
    'Give the certificate and the key together; a required client name also needs the certificate authority.',
  TLS_FILE_INVALID: 'Certificates and private keys must be PEM files, and the key must match its certificate.',
  WORKERS_INVALID: 'Workers must be a whole number from 1 to 512, or auto.',
  PEERS_INVALID:
    'Peers are HOST:PORT,… or dns:NAME:PORT or srv:NAME, without Redis, TLS or a Unix socket at the gRPC port (docs/peers.md).',
  PEERS_NEED_SECRET: 'Peers trust nodes with the same secret. Set SLUICE_SECRET to the same text on every node.',
  WORKERS_NEED_REDIS: 'Several workers share counters through Redis. Set --redis, or use --workers 1.',
  TRACES_EXPORTER_UNKNOWN: 'Traces are sent over OTLP. Set OTEL_TRACES_EXPORTER to otlp or none.',
  TRACES_PROTOCOL_UNKNOWN: 'The protocol must be http/protobuf or http/json; collectors accept both on port 4318.',
  TRACES_ENDPOINT_INVALID: 'The address for traces must begin with http:// or https://.',
  TRACES_PACKAGES_MISSING:
    'Traces need OpenTelemetry packages, which are not installed with sluice-server. Install them, or set OTEL_TRACES_EXPORTER=none.',
  WORKERS_CRASH: 'The service stops when none of its workers can start. See the log lines above.',
  NODE_NAME_INVALID: 'A node name must have 1 to 100 letters, digits and . _ : -, and begin with a letter or digit.',
  HOST_NAME_INVALID:
    'A host name must have letters, digits, - and ., without a port. Separate several names with commas.',
  ADMIN_URL_INVALID: 'An admin address must be http://HOST:PORT or https://HOST:PORT, without a password or a query.',
  ADMIN_UNREACHABLE:
    'Check that the service is running, that --admin is the address of its admin port, and that --token has the required role.',
  NOT_HEALTHY: 'The node did not report that it is ready (/readyz of its admin port) or alive (/livez).',
  SIZE_INVALID:
    'Give --rate and --keys as whole numbers such as 10000, 500k or 10M, --limits from 1 to 100, and --leased as a share such as 90%.',
  TRAFFIC_FORMAT_UNKNOWN:
    'Choose one with --format: nginx, envoy, json, csv (with a header that names a time) or decisions.',
  TRAFFIC_ENTRY_UNKNOWN: 'Say with --entry where its value is, or leave its rules out with --without.',
  TRAFFIC_EMPTY: 'Check --format, and with --entry and --field what the requests are made of.',
  ZSTD_UNSUPPORTED: 'zstd needs Node.js 22.15 or newer. Unpack the log with zstd -dc, and pipe it in with --traffic -.',
  FIELD_INVALID: 'Name a member or column that the log has: --field NAME=SOURCE.',
  TEMPLATE_INVALID: 'A template is text with names of fields in braces, such as {method} {path}.',
  CALLER_UNKNOWN: 'Name an entry that is sent, or a field of the log.',
  NOTHING_SIMULATED: 'Rules must be left that requests can come to. Check --descriptor and --without.',
  ROUTES_NOT_SIMULATED: 'Give rule files: a gateway reads more of a request than an access log has.',
  FAIL_IF_INVALID:
    'A condition is refused, shadow, lost, gained or unread, > or >=, and a number or percentage: refused > 1 %. In parentheses: an entry whose different values are counted, or caller.',
  TRAFFIC_READ_TWICE: 'Write the log to a file: suggest reads it twice, to measure it and to try what it proposes.',
  TIERS_INVALID: 'There may be at most 50 tiers, with names of at most 64 characters.',
  PERCENT_INVALID: 'Give a percentage, such as 99 or 50%.',
  SIMULATE_NUMBER_INVALID: 'Give a whole number from 1 on.',
  REPORT_UNWRITABLE: 'The folder must exist, and the user of this process must be able to write there.',
  SUBCOMMAND_INVALID:
    'Use sluice token create, first, list or revoke ID; sluice audit verify, list or export; or sluice ledger verify, reconcile or export.',
  AUDIT_BROKEN: 'Entries of the audit log were changed or removed after they were written.',
  COMMAND_UNKNOWN: 'Run sluice --help to list the commands.',
  PORT_UNAVAILABLE: 'Stop the other process or choose another port; 0 picks a free one.',
  ARGUMENT_MISSING: 'Run the command with --help to see its usage.',
  DOMAIN_UNKNOWN: 'Choose a domain that the rules define.',
  WEBHOOK_SECRET_INVALID: 'A webhook secret must be whsec_ followed by 24 to 64 bytes in base64.',
  WEBHOOK_URL_INVALID: 'A webhook address must be an https URL of a public address, without a user or a password.',
  WEBHOOKS_TOO_MANY: 'At most 50 webhooks can exist. Remove one first.',
  KAFKA_PACKAGE_MISSING: 'Install @platformatic/kafka next to sluice-server to send the audit log to Kafka.',
  AUDIT_KAFKA_INVALID: 'Brokers must be host:port, separated by commas.',
  ENTRY_INVALID: 'An entry must be key=value.',
  PGLITE_PACKAGE_MISSING:
    'The embedded database of --data is the package @electric-sql/pglite. Install it, or use a PostgreSQL (--database).',
  REDIS_TIMEOUT_INVALID: 'The Redis timeout must be from 1ms to 60s.',
  RESET_TARGET_INVALID: 'Give key=value with --rules, --key with a Sluice key in Redis, or --all with --domain.',
  REDIS_UNREACHABLE:
    'Redis did not answer within 5 seconds or refused the command. Check its address, password and permissions; repeating a reset is safe.',
  NODES_NOT_TOLD:
    'The counters were reset, but nodes may continue to refuse until their remembered refusals expire. Allow the Redis user to publish (docs/redis.md) and reset again.',
  ADMIN_REQUEST_INVALID: 'See /admin/v1/openapi.json for the expected form.',
  ADMIN_BODY_TOO_LARGE: 'A body for the admin API must be at most 65536 bytes, or 1048576 bytes with rules.',
  ADMIN_PATH_UNKNOWN: 'See /admin/v1/openapi.json for the paths of the admin API.',
  ADMIN_METHOD_INVALID: 'Use one of the methods in the Allow header.',
  ADMIN_TOKEN_REQUIRED:
    'Send a token of the admin API as "Authorization: Bearer TOKEN". Only while no token exists may programs on this machine read without one.',
  ADMIN_TOKEN_INVALID: 'A token of the admin API must be TOKEN or ROLE:TOKEN, with the role viewer, operator or admin.',
  FIRST_TOKEN_MISSING:
    'The service writes the first token to first-token in --data, or to --first-token-file, at its first start. It is gone once deleted: sluice token create makes another.',
  ADMIN_BIND_UNSAFE:
    'Without a token, the admin port listens only on loopback. Set SLUICE_ADMIN_TOKEN, or omit --admin-host.',
  ADMIN_RATE_LIMITED:
    'The admin API limits the requests of each address and token, and failed logins more strictly. Retry after the time in Retry-After.',
  ADMIN_FAILED: 'The service could not answer. Its log has the cause.',
  ROLE_INSUFFICIENT: 'Viewers read, operators manage customers, and admins change rules, tiers and tokens.',
  QUOTAS_UNAVAILABLE:
    'Customers, usage and audit need a database that is set and available. Set DATABASE_URL or --data.',
  RECORD_UNKNOWN: 'The record does not exist or was removed.',
  RECORD_EXISTS: 'Change the existing record, or choose another id.',
  OVERRIDE_SCOPE_NEEDED:
    'Name the rule that is meant with "domain" and "rule", or send "all": true to change all of them.',
  OVERRIDE_SCOPE_UNKNOWN: 'Name a domain and a rule of the rules in force; GET /admin/v1/rules lists them.',
  OVERRIDE_LOWERS:
    'Name the limit that is meant with "domain" and "rule", choose another unit, or send "allow_lower": true.',
  VERSION_STALE: 'The record was changed since you read it. Read it again and repeat the change.',
  VERSION_REQUIRED:
    'Send the ETag of the record you read as "If-Match: ETAG", or "If-Match: *" to overwrite any version.',
  CURSOR_INVALID: 'Use the next_cursor of the previous page unchanged, with the same list and filter.',
  IDEMPOTENCY_KEY_INVALID: 'An Idempotency-Key must have 1 to 255 printable characters, with or without quotes.',
  IDEMPOTENCY_KEY_REUSED: 'Use an Idempotency-Key for one request only within 24 hours.',
  IDEMPOTENCY_IN_PROGRESS: 'Wait for the first request to finish before you repeat it.',
  IDEMPOTENCY_KEYS_TOO_MANY:
    'At most 1000 idempotency keys per token and 10000 in total are kept for 24 hours, for 32 MiB of answers.',
  STREAMS_TOO_MANY: 'At most 64 readers, and 8 per token, can stream live figures.',
  API_KEY_REQUIRED: 'Send an active API key of a customer as "Authorization: Bearer KEY" or "X-API-Key: KEY".',
  DATABASE_URL_INVALID: 'A database address must be postgres://user:password@host:port/name.',
  DATABASE_UNAVAILABLE: 'Decisions continue with the last known records. Retry changes in a few seconds.',
  DATABASE_EMPTY:
    'A node creates the schema at its first start. Check the address; where nodes have run, the schema was removed.',
  LEDGER_SHORT: 'The allowance, then grants, then credits must pay for all of a request.',
  LEDGER_CUSTOMER_UNKNOWN:
    'A rule with a meter bills a customer: an entry of the request must lead to one that is known.',
  LEDGER_UNAVAILABLE: 'A rule with a meter admits only what the ledger pays for. Retry in a second.',
  LEDGER_ID_REUSED: 'An id belongs to one request. Repeat that one unchanged, or choose another id.',
  LEDGER_HOLD_UNKNOWN: 'Reserve first, or book an event.',
  LEDGER_HOLD_RESOLVED: 'A reservation is resolved once. Book more as an event.',
  LEDGER_EVENT_IN_FUTURE: 'Events are at most five minutes ahead of the database. Correct the clock of the sender.',
  LEDGER_AMOUNT_TOO_LARGE: 'Sums are at most 9007199254740991, and corrections at most what they correct.',
  LEDGER_PERIOD_OPEN: 'Only a period that has ended is closed, once.',
  LEDGER_RULES_UNKNOWN: 'Only a service knows which rules have a meter. Name one that runs: --admin URL --token TOKEN.',
  LEDGER_EXPORT_INVALID: 'An export needs --database, SLUICE_STRIPE_KEY, and --meter METER=EVENT_NAME for each meter.',
  LEDGER_EXPORT_INCOMPLETE: 'Correct what is printed, and run the export again: it continues where it ended.',
  STRIPE_KEY_REFUSED: 'SLUICE_STRIPE_KEY must be a key of Stripe that may write meter events.',
  LEDGER_BROKEN: 'Do not bill from this ledger: its balances are not the sums of its entries.',
  LEDGER_JOURNAL_DAMAGED:
    'What was confirmed is behind the damage. Keep a copy of the file, restore it from the disk, or move it away and correct by hand.',
  LEDGER_JOURNAL_FAILED:
    'The journal of the ledger must be on a disk that takes and syncs writes. Free or replace the disk, and restart.',
  LEDGER_BUSY: 'Retry in a second, with the same id.',
  DATABASE_FAILED: 'The database refused the statement. Check its permissions, disk space and schema.',
  DATABASE_LOCKED:
    'A data directory can be used by one process at a time. Use --admin to ask the service that has it open.',
  DATABASE_VERSION_UNSUPPORTED:
    'A data directory must be of the same major version of PostgreSQL as the PGlite that opens it.',
  SCHEMA_NEWER: 'The database was upgraded by a newer version of Sluice. Upgrade this program.',
  SECRET_CHANGED:
    'API keys in the database are hashed under another SLUICE_SECRET. Set the previous secret on every node.',
  REFERENCE_BROKEN: 'The customer or key of a record must exist. Create it first.',
  RECORD_INVALID: 'A record must have the fields of its table, with their types.',
  FILTER_UNKNOWN: 'A list can be filtered only by the fields of its table.',
  GATEWAY_OPTIONS_INVALID: 'See docs/gateway.md for listeners, routes and upstreams.',
  GATEWAY_REQUEST_INVALID:
    'A request must be valid HTTP (RFC 9110 and 9112, or 9113) that can be read in only one way.',
  GATEWAY_PATH_AMBIGUOUS: 'A path must mean the same to every upstream.',
  GATEWAY_VERSION_UNSUPPORTED: 'The gateway supports HTTP/1.0, HTTP/1.1 and HTTP/2.',
  GATEWAY_CODING_UNSUPPORTED: 'The only supported transfer coding of a request is chunked.',
  GATEWAY_EXPECTATION_UNKNOWN: 'The only supported expectation is 100-continue.',
  GATEWAY_HEADERS_TOO_LARGE:
    'The header section must have at most maxHeaderBytes (65536) bytes and maxHeaders (2000) fields.',
  GATEWAY_BODY_TOO_LARGE: 'The body must be at most the maxBodyBytes of its route (10 MiB by default).',
  GATEWAY_REQUEST_TIMEOUT: 'The request must arrive within the timeouts of its route.',
  GATEWAY_ROUTE_MISSING: 'No route matches the host and path of the request.',
  GATEWAY_METHOD_NOT_ALLOWED: 'Use one of the methods in the Allow header.',
  GATEWAY_UPGRADE_UNSUPPORTED: 'Only WebSocket upgrades are supported, and only on upstreams that speak HTTP/1.1.',
  GATEWAY_OVERLOADED:
    'The gateway limits the requests in flight, and each upstream limits its connections and waiting requests. Retry later.',
  GATEWAY_UPSTREAM_FAILED: 'The upstream did not accept a connection, or closed it before it answered.',
  GATEWAY_UPSTREAM_INVALID: 'The answer of the upstream is not valid HTTP (RFC 9112 or 9113).',
  GATEWAY_UPSTREAM_TIMEOUT: 'The upstream did not connect or answer within the timeouts of its route.',
  GATEWAY_FAILED: 'The gateway could not decide about the request. Its log has the cause.',
  ROUTES_INVALID: 'See docs/gateway.md for the keys and values of a routes file.',
  ROUTES_UNKNOWN_KEY:
    'Only documented keys of a routes file are accepted (docs/gateway.md), so that a typo never switches a limit off.',
  ROUTE_UNLIMITED:
    'Every route needs a limit: from the route, a domain or the whole file. To run without one, set "unlimited: true" on the route, or --no-limit on the command line.',
  UPSTREAM_REQUIRED: 'Give exactly one of --to URL and --routes FILE.',
  RATE_INVALID: 'A rate must be a number and a time, such as 100/1m, 5/10s or 1000/1h.',
  RESERVATION_INVALID:
    'A reservation must be one that a check with "reserve" returned; settle it once, within an hour.',
} as const

/**
 * The registry of error codes: for each code that Sluice can raise, what was expected or what to do, in full sentences.
 * A test compares it with docs/errors.md.
 */
export const ERROR_RULES = { ...LIMIT_RULES, ...DOOR_RULES, ...OPTIONAL_RULES, ...SERVICE_RULES } as const
