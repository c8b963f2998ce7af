/**
 * The one registry of error codes. Every code that Sluice can raise stands here with the rule behind it, and in
 * docs/errors.md; a test compares the two in both directions.
 */
export const ERROR_RULES = {
  LIMIT_INVALID: 'a limit is a whole number from 0 to 4294967295',
  WINDOW_REQUIRED: 'every algorithm but concurrency needs a window (or, for fixed_window, a calendar)',
  WINDOW_INVALID: 'a window is a duration of whole milliseconds from 1 ms to 10 years',
  DURATION_INVALID:
    'a duration is a whole number of milliseconds or a text such as "90s", "1h30m", "500ms" (units: ms, s, m, h, d, w)',
  DURATION_UNIT_MISSING:
    'in code, a duration is a text with its unit, such as "90s" or "500ms": 60 would be milliseconds',
  ANCHOR_UNKNOWN: 'an anchor is epoch or first_hit',
  ALGORITHM_UNKNOWN:
    'an algorithm is one of sliding_window, token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, concurrency',
  OPTION_NOT_APPLICABLE: 'an option is given only where the algorithm uses it',
  OPTION_UNKNOWN: 'only documented options are accepted, so that a typo is never silently ignored',
  BURST_INVALID: 'a burst is a whole number from 1 to 4294967295, and needs a limit of at least 1',
  RATE_TOO_HIGH: 'gcra and leaky_bucket count up to 512 hits per millisecond; use token_bucket above that',
  BUCKET_TOO_LARGE: 'burst × window, in lowest terms, is at most 2^50, so that arithmetic stays exact',
  SUB_WINDOWS_INVALID: 'sub_windows is a whole number from 2 to 1000, and each sub-window lasts at least 1 ms',
  LOG_LIMIT_TOO_HIGH: 'sliding_log and concurrency keep a record for each hit and take limits up to 10000',
  CALENDAR_INVALID: 'a calendar has a unit (day, week, month, year) and an IANA time zone',
  COST_INVALID: 'a cost is a whole number between -4294967295 and 4294967295',
  KEY_INVALID: 'a key is a non-empty string of at most 65536 characters',
  ACQUIRE_NOT_APPLICABLE: 'acquire takes places, and only a concurrency limit has them; use check for the others',
  PROXY_TRUST_INVALID:
    'trusted proxies are a number of hops from 0 to 32, or a list of addresses, blocks and the names loopback, linklocal, uniquelocal; the field is x-forwarded-for or forwarded',
  JWT_OPTIONS_INVALID: 'tokens are verified with exactly one of secret, publicKey, jwks and jwksUrl (https)',
  SUBNET_INVALID: 'a prefix has from 1 to 128 bits for IPv6 and from 1 to 32 for IPv4',
  GATE_OPTIONS_INVALID:
    'options have the types and values that docs/middleware.md lists; a middleware has one limit, or limits, or rules',
  REDIS_CLIENT_INVALID:
    'redis is an address, or a client of the package redis (5 and newer) or ioredis for a single server',
  YAML_PACKAGE_MISSING:
    'YAML is read by the package yaml, which is installed with sluice; a bundle does not contain it, so install it where the bundle runs',
  RESET_ALL_NOT_APPLICABLE: 'only a store in memory can forget everybody; Redis is shared, reset keys one by one',
  STORE_UNAVAILABLE: 'a store that is to throw does so when Redis does not answer within its deadline',
  HIT_STORE_INVALID:
    'a store has the functions increment, decrement and resetKey; init and resetAll are functions or absent',
  THROTTLER_MISSING: 'a guard for @nestjs/throttler needs that package; SluiceGuard does not',
  RULE_INVALID: 'rules follow the rule language, docs/rules.md',
  RULE_UNKNOWN_KEY: 'only keys of the rule language are accepted (docs/rules.md), so that a typo is never ignored',
  RULE_COMBINATION: 'some keys need or exclude each other, docs/rules.md',
  RULE_CIDR_INVALID: 'an address block is an IPv4 or IPv6 address, a slash and a prefix length',
  RULE_SYNTAX: 'a rule file is valid YAML',
  RULE_FILE_UNREADABLE: 'rules are a readable file, or a directory of .yaml and .yml files',
  RULE_FILE_FOREIGN: 'a rule file is YAML with a domain and descriptors (docs/rules.md)',
  RULE_FILE_TOO_LARGE: 'a rule file has at most 8 MiB',
  RULE_FILE_TOO_DEEP: 'a rule file nests at most 64 levels deep',
  RULE_TOO_MANY_ALIASES:
    'a rule file has at most 10000 anchors and aliases, 1000 aliases of one anchor, for at most 1000000 values',
  RELOAD_FAILED: 'rules that change are loaded in a thread of their own, in at most 1 GiB of memory and a minute',
  RULE_DUPLICATE_DOMAIN: 'a domain is defined once',
  RULE_DUPLICATE_KEY: 'a key, or a key with its value, is defined once within a level',
  REQUEST_INVALID:
    'a check is {"domain": text, "descriptors": [{"entries": [{"key": text, "value": text}]}], "cost": whole number, "priority": critical, write, read or test}',
  LIMITS_TOO_MANY: 'a message of sluice.v1.Limiter brings at most 256 limits of its own, over all its requests',
  BODIES_TOO_MANY: 'bodies of requests that are not complete take at most 32 MiB together',
  HOT_KEYS_QUERY_INVALID:
    'hot keys are asked for with by=refused or active, minutes=1, 5, 60 or 1440, limit=1 to 200, scope=node or fleet, domain and rule, each once',
  BODY_TOO_LARGE: 'a request body has at most 65536 bytes',
  CONTENT_TYPE_INVALID: 'a body is sent as JSON, with "Content-Type: application/json"; to /json it may be left out',
  CROSS_SITE_REQUEST: 'programs ask, and pages of the same origin; web pages of other sites may not',
  HOST_UNKNOWN: 'the admin port answers to addresses, localhost, --admin-host and --admin-names',
  RLS_REQUEST_INVALID:
    'a request to /json is an envoy.service.ratelimit.v3.RateLimitRequest in the JSON form of protobuf',
  TOKEN_REQUIRED:
    'where SLUICE_TOKEN is set, callers send it as "Authorization: Bearer TOKEN"; gRPC clients may have a certificate instead',
  CALLER_NOT_TRUSTED:
    'only trusted callers give back (a cost below 0), bring limits or are critical: set SLUICE_TOKEN and send it, or start with --trust-callers',
  LEASE_INVALID: 'a lease is the text that acquire answered with, unchanged, from nodes with the same SLUICE_SECRET',
  RELEASE_INVALID: 'a release is {"lease": text}',
  RENEW_INVALID: 'a renewal is {"leases": [text]}, of 1 to 100 leases',
  LEASE_EXPIRED:
    'a lease is renewed before its time is over, and not after it was released; then places are acquired anew',
  LEASE_NOT_RENEWED: 'a lease is renewed by a node that can reach its store; try again before its time is over',
  TOKEN_INVALID: 'a token has 16 to 1024 letters, digits and signs of - . _ ~ + / =; several are separated by commas',
  FLAG_UNKNOWN: 'flags are listed by --help',
  VARIABLE_UNKNOWN:
    'variables that begin with SLUICE_ are settings, listed by sluice serve --help; unset one that is none',
  VARIABLE_UNSUPPORTED:
    'a variable of envoyproxy/ratelimit that would change the limits, and has no meaning here, is not set (docs/migrate-from-envoy-ratelimit.md)',
  RULES_MISSING:
    'rules are named by --rules, --rules-xds, SLUICE_RULES or, as in envoyproxy/ratelimit, RUNTIME_ROOT; --examples runs without rules of your own',
  RULES_URL_INVALID:
    'rules at an address are at http:// or https://; a token or a password is sent over https, or to this machine',
  RULES_XDS_INVALID:
    'a control plane is named HOST:PORT; node metadata is key=value and headers are name:value, separated by commas',
  XDS_RESOURCE_INVALID:
    'a control plane sends messages of the type ratelimit.config.ratelimit.v3.RateLimitConfig, up to 64 levels deep and with up to 500000 descriptors and values',
  RULES_AWAY:
    'rules that come from an address are there when the service starts, whole and in time; --start-without-rules starts without',
  PORT_INVALID: 'a port is a whole number from 0 to 65535, and 0 picks a free one',
  NODES_OR_RATE_INVALID: 'how many is a whole number, and of nodes there is at least one',
  FLAG_VALUE_MISSING: 'a flag is followed by its value, as in --flag VALUE or --flag=VALUE',
  CHOICE_INVALID: 'a setting with fixed values takes one of them',
  COUNT_INVALID: 'a count is a whole number from 0 to 999999999, and 0 stands for the default',
  SHARE_INVALID: 'a share is a number from 0 to 1, such as 0.01',
  DURATION_TOO_LONG: 'a time that the service waits for is at most 20 days',
  HEADER_NAME_INVALID: 'the name of a header has 1 to 100 letters, digits and signs such as -',
  CONFIG_INVALID: 'a config file is YAML with one setting a line, such as "http_port: 8080"',
  CONFIG_KEY_UNKNOWN: 'settings in a config file are named as the flags in --help, with _ for -',
  FILE_UNREADABLE: 'a file that a setting names exists, and this user may read it',
  TAGS_INVALID: 'tags are key:value, separated by commas, without spaces and special signs in keys and values',
  TLS_INCOMPLETE: 'a certificate and its key are given together; a name to ask of clients needs their authority',
  TLS_FILE_INVALID: 'certificates and private keys are PEM files, and a key is that of its certificate',
  WORKERS_INVALID: 'workers is a whole number from 1 to 512, or auto',
  WORKERS_NEED_REDIS: 'several workers share counters through Redis (--redis); in memory each would count for itself',
  TRACES_EXPORTER_UNKNOWN: 'traces are sent by OTLP: OTEL_TRACES_EXPORTER is otlp or none',
  TRACES_PROTOCOL_UNKNOWN: 'traces are sent by http/protobuf or http/json; a collector takes both on port 4318',
  TRACES_ENDPOINT_INVALID: 'traces are sent to an address that begins with http:// or https://',
  TRACES_PACKAGES_MISSING:
    'traces need packages of OpenTelemetry, which are not installed with sluice-server; OTEL_TRACES_EXPORTER=none asks for no traces',
  WORKERS_CRASH: 'workers start; when none does, the service ends',
  NODE_NAME_INVALID:
    'the name of a node has 1 to 100 letters, digits, and any of . _ : -, and begins with a letter or digit',
  HOST_NAME_INVALID: 'the name of a host has letters, digits, - and ., without a port; several are separated by commas',
  ADMIN_URL_INVALID: 'an admin port is http://HOST:PORT or https://HOST:PORT, without a password or a query',
  ADMIN_UNREACHABLE: 'a command that asks a service reaches its admin port, with a token that may do it',
  NOT_HEALTHY: 'a node that takes requests says so at /readyz of its admin port, one that runs at /livez',
  SIZE_INVALID:
    'size takes --rate and --keys, whole numbers such as 10000, 500k or 10M; --limits from 1 to 100, --leased a share such as 90%',
  SUBCOMMAND_INVALID: 'token takes create, first, list or revoke ID; audit takes verify, list or export',
  AUDIT_BROKEN: 'every entry of the audit log is as it was written, and none is missing',
  COMMAND_UNKNOWN: 'commands are listed by --help',
  PORT_UNAVAILABLE: 'a port is free and allowed to this user, or 0 to pick a free one',
  SWITCH_INVALID: 'a switch is true or false',
  ARGUMENT_MISSING: 'usage is shown by --help',
  DOMAIN_UNKNOWN: 'a domain is one that the rules define',
  WEBHOOK_SECRET_INVALID: 'a secret of a webhook is whsec_ and 24 to 64 bytes in base64',
  WEBHOOK_URL_INVALID: 'a webhook goes to an https URL of a public address, without a user or a password',
  WEBHOOKS_TOO_MANY: 'there are up to 50 webhooks',
  KAFKA_PACKAGE_MISSING:
    'the audit log goes to Kafka with @platformatic/kafka, which is installed beside sluice-server',
  AUDIT_KAFKA_INVALID: 'brokers are host:port, with commas between them',
  ENTRY_INVALID: 'an entry is written key=value',
  REDIS_URL_INVALID:
    'an address is redis://host:port, rediss:// for TLS, unix:///path, redis+sentinel://hosts/master or redis+cluster://hosts',
  KEY_PREFIX_INVALID: 'a prefix of keys has at most 100 characters, without { and } and control characters',
  COMPACT_KEYS_NEED_SECRET: 'compact keys are hashes under a secret: SLUICE_SECRET, the same on every node',
  REDIS_TIMEOUT_INVALID: 'Redis has from 1ms to 60s to answer a decision',
  RESET_TARGET_INVALID:
    'reset takes key=value with --rules, or --key with a key of Sluice in Redis, or --all with --domain',
  REDIS_UNREACHABLE: 'a command that works on counters reaches Redis within 5 seconds, and Redis does what it is asked',
  NODES_NOT_TOLD:
    'nodes hear of a reset on a channel (docs/redis.md); those that do not go on refusing until they would ask',
  ADMIN_REQUEST_INVALID: 'a request to the admin API has the form that /admin/v1/openapi.json describes',
  ADMIN_BODY_TOO_LARGE: 'a body for the admin API has at most 65536 bytes, and one with rules 1048576',
  ADMIN_PATH_UNKNOWN: 'the paths of the admin API are listed in /admin/v1/openapi.json',
  ADMIN_METHOD_INVALID: 'a path takes the methods that the Allow header lists',
  ADMIN_TOKEN_REQUIRED:
    'a change needs a token of the admin API, and so does reading: only where there is no token yet, programs on this machine read without',
  ADMIN_TOKEN_INVALID: 'a token of the admin API is TOKEN, or ROLE:TOKEN with the role viewer, operator or admin',
  FIRST_TOKEN_MISSING:
    'the first token is in first-token of --data, or where --first-token-file says, from the first start until it is deleted',
  ADMIN_BIND_UNSAFE: 'the admin port listens on other addresses than loopback only where there is a token',
  ADMIN_RATE_LIMITED: 'the admin API bounds the requests of an address and of a token, and failed logins harder',
  ADMIN_FAILED: 'the service failed to answer; its log says why',
  ROLE_INSUFFICIENT: 'viewers look, operators help customers, admins change rules, tiers and tokens',
  QUOTAS_UNAVAILABLE: 'customers, usage and audit are kept in a database, and one is set and answers',
  RECORD_UNKNOWN: 'a record exists, and was not removed',
  RECORD_EXISTS: 'an id is given once',
  OVERRIDE_SCOPE_NEEDED:
    'an override that is for several rules names the one that is meant, with "domain" and "rule", or says "all": true',
  OVERRIDE_SCOPE_UNKNOWN:
    'an override names a domain and a rule that the rules in force have; GET /admin/v1/rules lists them',
  OVERRIDE_LOWERS:
    'a raise lowers no limit: name the limit that is meant, with "domain" and "rule", or say "allow_lower": true',
  VERSION_STALE: 'a change names the version that it was made from, and nobody changed the record since',
  VERSION_REQUIRED:
    'a change of a record names its version, as "If-Match: ETAG" of the answer that was read; "If-Match: *" takes any',
  CURSOR_INVALID: 'a cursor is the next_cursor of the page before, unchanged, for the same list and filter',
  IDEMPOTENCY_KEY_INVALID: 'an Idempotency-Key has 1 to 255 printable characters, in quotes or without',
  IDEMPOTENCY_KEY_REUSED: 'an Idempotency-Key is used for one request only, within 24 hours',
  IDEMPOTENCY_IN_PROGRESS: 'a request is repeated after the first one was answered',
  IDEMPOTENCY_KEYS_TOO_MANY:
    'a token has at most 1000 idempotency keys within 24 hours, and all have 10000, for 32 MiB of answers',
  STREAMS_TOO_MANY: 'live figures are streamed to at most 64 readers, and to 8 of one token',
  API_KEY_REQUIRED: 'a customer shows an API key that is in use, as "Authorization: Bearer KEY" or "X-API-Key: KEY"',
  DATABASE_URL_INVALID: 'an address of a database is postgres://user:password@host:port/name',
  DATABASE_UNAVAILABLE:
    'the database answers in time; while it does not, what was last known stays in force, and changes are refused',
  DATABASE_FAILED: 'the database does what it is asked',
  DATABASE_LOCKED:
    'a data directory is used by one process at a time; a service that has it open is asked with --admin',
  DATABASE_VERSION_UNSUPPORTED:
    'a data directory is of the same major version of PostgreSQL as the PGlite that opens it',
  SCHEMA_NEWER: 'a database is opened by a program that is at least as new as its schema',
  SECRET_CHANGED: 'all nodes have the SLUICE_SECRET under which the keys in the database were hashed',
  REFERENCE_BROKEN: 'the customer or key that a record is about exists',
  RECORD_INVALID: 'a record has the fields of its table, with their types',
  FILTER_UNKNOWN: 'a list is filtered by the fields that its table has',
  DOCUMENT_VERSION_UNKNOWN: 'a version of a rule document is one that was put before',
  MAX_KEYS_INVALID: 'maxKeys is a whole number from 1 to 67108864',
  GATEWAY_OPTIONS_INVALID: 'a gateway has listeners, routes and upstreams as docs/gateway.md describes them',
  GATEWAY_REQUEST_INVALID: 'a request is HTTP as RFC 9110 and 9112 (or 9113) define it, in one way only to read it',
  GATEWAY_PATH_AMBIGUOUS: 'a path of a request means the same to every upstream',
  GATEWAY_VERSION_UNSUPPORTED: 'a gateway speaks HTTP/1.0, HTTP/1.1 and HTTP/2',
  GATEWAY_CODING_UNSUPPORTED: 'the only transfer coding of a request is chunked',
  GATEWAY_EXPECTATION_UNKNOWN: 'the only expectation is 100-continue',
  GATEWAY_HEADERS_TOO_LARGE: 'a head has at most maxHeaderBytes (65536) bytes and maxHeaders (2000) fields',
  GATEWAY_BODY_TOO_LARGE: 'the body of a request has at most the bytes that its route allows (10 MiB)',
  GATEWAY_REQUEST_TIMEOUT: 'a request arrives within the times of its route',
  GATEWAY_ROUTE_MISSING: 'a request fits one of the routes',
  GATEWAY_METHOD_NOT_ALLOWED: 'a route takes the methods that the Allow header lists',
  GATEWAY_UPGRADE_UNSUPPORTED: 'connections are upgraded to WebSocket, and on upstreams that speak HTTP/1.1',
  GATEWAY_OVERLOADED:
    'the gateway has a bounded number of requests under way, and each upstream of connections and of requests that wait',
  GATEWAY_UPSTREAM_FAILED: 'an upstream takes connections, and keeps them until it has answered',
  GATEWAY_UPSTREAM_INVALID: 'an upstream answers in HTTP as RFC 9112 (or 9113) defines it',
  GATEWAY_UPSTREAM_TIMEOUT: 'an upstream takes a connection, and answers, within the times of its route',
  GATEWAY_FAILED: 'the gateway decides about every request; its log says why it could not',
  ROUTES_INVALID: 'a routes file has upstreams, routes and limits as docs/gateway.md describes them',
  ROUTES_UNKNOWN_KEY:
    'only keys of a routes file are accepted (docs/gateway.md), so that a typo never switches a limit off',
  ROUTE_UNLIMITED:
    'every route has a limit: its own, that of a domain, or one of the whole file; one that is to have none says "unlimited: true", and the command line --no-limit',
  UPSTREAM_REQUIRED: 'a gateway leads somewhere: --to URL, or --routes FILE; one of them',
  RATE_INVALID: 'a rate is a number and a time: 100/1m, 5/10s, 1000/1h',
  RESERVATION_INVALID: 'a reservation is one that a check with "reserve" returned, settled once and within an hour',
} as const

/** ErrorCode is the code of an error; docs/errors.md has the rule behind each. */
export type ErrorCode = keyof typeof ERROR_RULES

/**
 * SluiceError is the only error Sluice raises on purpose. Its message states the code, where, the offending value and
 * the rule: `LIMIT_INVALID: limit: got -1; a limit is a whole number from 0 to 4294967295`. Where more can be said than the
 * rule, it states what happened and what to do: `PORT_UNAVAILABLE: port 8080 is in use (EADDRINUSE). Stop the other process …`.
 */
export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  readonly code: ErrorCode
  readonly where: string
  readonly detail: string

  constructor(code: ErrorCode, where: string, detail: string, advice?: string) {
    super(`${code}: ${advice === undefined ? `${where}: ${detail}; ${ERROR_RULES[code]}` : `${detail}. ${advice}`}`)
    this.code = code
    this.where = where
    this.detail = detail
  }
}

/** withoutCredentials takes the user and password of every address out of a text. */
export function withoutCredentials(text: string): string {
  return text.replace(/:\/\/\S*@/g, '://…@')
}

/** got spells a value for an error message: short, quoted when it is text, never a whole object, and no passwords. */
export function got(value: unknown): string {
  if (typeof value === 'string') {
    // The whole of it is one address, whatever characters its password has.
    const text = value.replace(/:\/\/.*@/s, '://…@')
    return `got ${JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)}`
  }
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? listText(value) : 'got an object'
  return `got ${String(value)}`
}

function listText({ length }: readonly unknown[]): string {
  return length === 0 ? 'got an empty list' : 'got a list'
}
