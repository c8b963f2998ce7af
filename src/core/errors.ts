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
  RULE_INVALID: 'rules follow the rule language, docs/rules.md',
  RULE_UNKNOWN_KEY: 'only keys of the rule language are accepted (docs/rules.md), so that a typo is never ignored',
  RULE_COMBINATION: 'some keys need or exclude each other, docs/rules.md',
  RULE_CIDR_INVALID: 'an address block is an IPv4 or IPv6 address, a slash and a prefix length',
  RULE_SYNTAX: 'a rule file is valid YAML',
  RULE_FILE_UNREADABLE: 'rules are a readable file, or a directory of .yaml and .yml files',
  RULE_FILE_TOO_LARGE: 'a rule file has at most 8 MiB',
  RULE_FILE_TOO_DEEP: 'a rule file nests at most 64 levels deep',
  RULE_TOO_MANY_ALIASES:
    'a rule file has at most 10000 anchors and aliases, 1000 aliases of one anchor, for at most 1000000 values',
  RULE_DUPLICATE_DOMAIN: 'a domain is defined once',
  RULE_DUPLICATE_KEY: 'a key, or a key with its value, is defined once within a level',
  REQUEST_INVALID:
    'a check is {"domain": text, "descriptors": [{"entries": [{"key": text, "value": text}]}], "cost": whole number}',
  BODY_TOO_LARGE: 'a request body has at most 65536 bytes',
  FLAG_UNKNOWN: 'flags are listed by --help',
  FLAG_INVALID: 'a port is a whole number from 0 to 65535, and 0 picks a free one',
  FLAG_VALUE_MISSING: 'a flag is followed by its value, as in --flag VALUE or --flag=VALUE',
  COMMAND_UNKNOWN: 'commands are listed by --help',
  PORT_UNAVAILABLE: 'a port is free and allowed to this user, or 0 to pick a free one',
  SWITCH_INVALID: 'a switch is true or false',
  ARGUMENT_MISSING: 'usage is shown by --help',
  DOMAIN_UNKNOWN: 'a domain is one that the rules define',
  ENTRY_INVALID: 'an entry is written key=value',
  REDIS_URL_INVALID:
    'an address is redis://host:port, rediss:// for TLS, unix:///path, redis+sentinel://hosts/master or redis+cluster://hosts',
  MAX_KEYS_INVALID: 'maxKeys is a whole number from 1 to 67108864',
} as const

export type ErrorCode = keyof typeof ERROR_RULES

/**
 * SluiceError is the only error Sluice raises on purpose. Its message states the code, where, the offending value and
 * the rule: `LIMIT_INVALID: limit: got -1; a limit is a whole number from 0 to 4294967295`.
 */
export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  readonly code: ErrorCode
  readonly where: string
  readonly detail: string

  constructor(code: ErrorCode, where: string, detail: string) {
    super(`${code}: ${where}: ${detail}; ${ERROR_RULES[code]}`)
    this.code = code
    this.where = where
    this.detail = detail
  }
}

/** got spells a value for an error message: short, quoted when it is text, never a whole object. */
export function got(value: unknown): string {
  if (typeof value === 'string') return `got ${JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}…` : value)}`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'got a list' : 'got an object'
  return `got ${String(value)}`
}
