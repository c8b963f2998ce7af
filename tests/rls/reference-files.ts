/** A FileDifference is a kind of rule file that one of the two services reads and the other refuses. */
export interface FileDifference {
  readonly what: string
  readonly there: 'read' | 'refused'
  readonly reason: string
  /** Files of tests/fixtures/reference/rule-files.json that show it. */
  readonly files: readonly string[]
}

/** FILE_DIFFERENCES is all of them, as docs/migrate-from-envoy-ratelimit.md lists them. */
export const FILE_DIFFERENCES: readonly FileDifference[] = [
  {
    what: '`requests_per_unit` is missing, or without a value',
    there: 'read',
    reason: 'it means 0 there, which refuses everyone; write the 0',
    files: ['no number', 'an empty number'],
  },
  {
    what: '`requests_per_unit: 010`',
    there: 'read',
    reason: 'ambiguous: 8 there, 10 in YAML 1.2',
    files: ['a number with a leading 0', 'several leading zeros'],
  },
  {
    what: '`requests_per_unit: 1_000` or `0b11`',
    there: 'read',
    reason: 'texts in YAML 1.2; write the plain number',
    files: ['a binary number', 'a number with underscores'],
  },
  {
    what: 'a key of YAML twice in one map',
    there: 'read',
    reason: 'the first of the two would be ignored',
    files: ['a key of YAML twice', 'a key of YAML twice in a descriptor'],
  },
  {
    what: 'several documents in one file',
    there: 'read',
    reason: 'all but the first would be ignored',
    files: ['two documents'],
  },
  {
    what: 'a key that belongs elsewhere, such as `unit` next to `key` or `shadow_mode` in `rate_limit`',
    there: 'read',
    reason: 'it would be ignored',
    files: ['a limit of a key that stands elsewhere', 'a key of another level', 'a key of a descriptor in a limit'],
  },
  {
    what: '`name: ""`',
    there: 'read',
    reason: 'a mistake more often than a wish; `name:` without a value is no name',
    files: ['a name that is empty'],
  },
  {
    what: 'a name of more than 128 characters, a key of more than 256',
    there: 'read',
    reason: 'they are part of headers, of names of counts and of keys in Redis',
    files: ['a name of 200 characters', 'a key of 300 characters'],
  },
  {
    what: '`share_threshold` with a `*` in the key instead of the value',
    there: 'read',
    reason: '`*` in a key is a character like any other',
    files: ['share_threshold with a wildcard in the key'],
  },
  {
    what: 'keys and values that are alike once they are joined by `_`',
    there: 'refused',
    reason: 'they are not joined',
    files: ['key and value that join alike'],
  },
  {
    what: '`requests_per_unit: 5.0` or `1e3`',
    there: 'refused',
    reason: 'whole numbers all the same',
    files: ['a whole number with a point', 'a number with an exponent'],
  },
  {
    what: '`value: 1.5`, and numbers of more than 64 bits',
    there: 'refused',
    reason: 'values are texts, with or without quotes',
    files: ['a value that is a fraction', 'a value that is a large number'],
  },
]
