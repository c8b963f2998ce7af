/** What a limit can raise: all that a bundle with `rateLimit` alone has. */
export const LIMIT_RULES = {
  LIMIT_INVALID: 'A limit must be a whole number from 0 to 4294967295.',
  WINDOW_REQUIRED:
    'Every algorithm except concurrency needs a window, such as "1m"; fixed_window also accepts a calendar.',
  WINDOW_INVALID: 'A window must be a duration in whole milliseconds, from 1 ms to 10 years.',
  DURATION_INVALID:
    'A duration must be a whole number of milliseconds or a string such as "90s", "1h30m" or "500ms" (units: ms, s, m, h, d, w).',
  DURATION_UNIT_MISSING:
    'In code, a duration must be a string with a unit, such as "90s" or "500ms": the number 60 would mean 60 milliseconds.',
  ANCHOR_UNKNOWN: 'An anchor must be epoch or first_hit.',
  ALGORITHM_UNKNOWN:
    'The algorithm must be one of sliding_window, token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, concurrency.',
  OPTION_NOT_APPLICABLE: 'Remove the option, or choose an algorithm that uses it.',
  OPTION_UNKNOWN: 'Only documented options are accepted, so that a typo is never silently ignored.',
  BURST_INVALID: 'A burst must be a whole number from 1 to 4294967295, with a limit of at least 1.',
  RATE_TOO_HIGH: 'gcra and leaky_bucket support up to 512 hits per millisecond. Use token_bucket above that.',
  BUCKET_TOO_LARGE:
    'Burst × window, in lowest terms, must be at most 2^50 to keep the arithmetic exact. Lower the burst or shorten the window.',
  SUB_WINDOWS_INVALID:
    'sub_windows must be a whole number from 2 to 1000, and each sub-window must last at least 1 ms.',
  LOG_LIMIT_TOO_HIGH: 'sliding_log and concurrency keep a record for each hit, so their limit must be at most 10000.',
  CALENDAR_INVALID:
    'A calendar needs a unit (day, week, month or year) and an IANA time zone, such as "Europe/Berlin".',
  COST_INVALID: 'A cost must be a whole number from -4294967295 to 4294967295.',
  KEY_INVALID: 'A key must be a non-empty string of at most 65536 characters.',
  ACQUIRE_NOT_APPLICABLE: 'Only a concurrency limit has permits to acquire. Use check for other algorithms.',
  GATE_OPTIONS_INVALID: 'See docs/middleware.md for the options and their values.',
  REDIS_CLIENT_INVALID:
    'redis must be an address, or a client from the redis package (version 5 or newer) or from ioredis for a single server.',
  ENTRY_NOT_BUNDLED: 'Import the entry that is named and pass what it returns (docs/middleware.md).',
  STORE_CLIENT_INVALID:
    'Pass a client that is made already: a pool of pg, or what postgres() of the package postgres returned.',
  STORE_PLACE_INVALID: 'See docs/stores.md for how the store is named: tables, servers and addresses.',
  SWITCH_INVALID: 'A switch must be true or false.',
  MAX_KEYS_INVALID: 'maxKeys must be a whole number from 1 to 67108864.',
} as const

/** What middleware and stores of hits can raise besides. */
export const DOOR_RULES = {
  PROXY_TRUST_INVALID:
    'Trusted proxies must be a number of hops from 0 to 32, or a list of addresses, blocks and the names loopback, linklocal and uniquelocal. The field must be x-forwarded-for or forwarded.',
  SUBNET_INVALID: 'A prefix length must be from 1 to 128 bits for IPv6 and from 1 to 32 for IPv4.',
  RESET_ALL_NOT_APPLICABLE: 'Only a memory store can reset all keys. Shared counters are reset one key at a time.',
  STORE_UNAVAILABLE:
    'The store is configured to throw when Redis does not answer by the deadline. Retry, or choose another failure policy.',
  HIT_STORE_INVALID:
    'A store must have the functions increment, decrement and resetKey; init and resetAll are optional functions.',
} as const

/** What the parts can raise that a bundle may lack: rules, tokens and Redis. */
export const OPTIONAL_RULES = {
  JWT_OPTIONS_INVALID: 'Give exactly one of secret, publicKey, jwks and jwksUrl (https) to verify tokens with.',
  YAML_PACKAGE_MISSING:
    'The yaml package could not be loaded. It is installed with sluice but not included in bundles: install it where the bundle runs (npm install yaml).',
  THROTTLER_MISSING:
    'Install @nestjs/throttler (npm install @nestjs/throttler), or use SluiceGuard, which does not need it.',
  RULE_INVALID: 'See docs/rules.md for the rule language.',
  RULE_UNKNOWN_KEY: 'Only keys of the rule language are accepted (docs/rules.md), so that a typo is never ignored.',
  RULE_COMBINATION: 'See docs/rules.md for keys that require or exclude each other.',
  RULE_CIDR_INVALID:
    'An address block must be an IPv4 or IPv6 address, a slash and a prefix length, such as 10.0.0.0/8.',
  RULE_SYNTAX: 'A rule file must be valid YAML.',
  RULE_FILE_UNREADABLE: 'Rules must be a readable file, or a directory of .yaml and .yml files.',
  RULE_FILE_FOREIGN: 'A rule file must be YAML with a domain and descriptors (docs/rules.md).',
  RULE_FILE_TOO_LARGE: 'A rule file must be at most 8 MiB. Split it by domain.',
  RULE_FILE_TOO_DEEP: 'A rule file must nest at most 64 levels deep.',
  RULE_TOO_MANY_ALIASES:
    'A rule file must have at most 10000 anchors and aliases, at most 1000 aliases per anchor, and expand to at most 1000000 values.',
  RELOAD_FAILED:
    'The previous rules stay in force. Changed rules are loaded in a separate thread, with at most 1 GiB of memory and one minute.',
  RULE_DUPLICATE_DOMAIN: 'A domain must be defined only once. Rename one, or merge them.',
  RULE_DUPLICATE_KEY: 'A key, or a key with its value, must be unique within a level.',
  REQUEST_INVALID:
    'A check must be {"domain": text, "descriptors": [{"entries": [{"key": text, "value": text}]}], "cost": whole number, "priority": critical, write, read or test}.',
  REDIS_URL_INVALID:
    'The address must be redis://host:port, rediss:// for TLS, unix:///path, redis+sentinel://hosts/master or redis+cluster://hosts.',
  KEY_PREFIX_INVALID: 'A key prefix must have at most 100 characters, without {, } and control characters.',
  COMPACT_KEYS_NEED_SECRET: 'Compact keys are keyed hashes. Set SLUICE_SECRET to the same value on every node.',
} as const
