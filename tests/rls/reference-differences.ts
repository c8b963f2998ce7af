/** A Difference is a way in which answers are not those of envoyproxy/ratelimit, although they are to be. */
export interface Difference {
  readonly there: string
  readonly here: string
  readonly reason: string
  /** The cases that show it, and the fields that differ there. */
  readonly cases: readonly string[]
  readonly fields: RegExp
}

const STATS = /^\.stats\..*\.(near_limit|over_limit|shadow_mode)$/

/** All of them in answers and counts, as docs/migrate-from-envoy-ratelimit.md lists them. */
export const DIFFERENCES: readonly Difference[] = [
  {
    there:
      'bytes that are not UTF-8 in a value: the call fails, and where Envoy lets failed calls pass, so does the caller',
    here: 'a caller like any other',
    reason: 'a limit that one byte switches off is none',
    cases: ['bytes that are not UTF-8'],
    fields: /^\.answers\.0$/,
  },
  {
    there: 'bytes that are no message: `INTERNAL`',
    here: '`INVALID_ARGUMENT`',
    reason: "the fault is the caller's, and alarms on internal errors are to mean ours",
    cases: ['bytes that are no message'],
    fields: /^\.answers\.0$/,
  },
  {
    there: '`hits_addend` of 2^63 and more: the call fails',
    here: 'refused',
    reason: 'there the number overflows in Redis',
    cases: ['hits of a descriptor of 2^63', 'hits of a descriptor of 2^64 - 1'],
    fields: /^\.(answers\.0|stats\.user\.(total_hits|over_limit))$/,
  },
  {
    there: '`total_hits` counts all hits of a request',
    here: 'the same number for all that cost more than the largest limit, 2^32 - 1',
    reason: 'they are refused, whatever they cost',
    cases: [
      'hits of a descriptor above 2^32',
      'hits of a descriptor of 2^32, on the largest limit',
      'hits of a descriptor of 2^32 + 1, on the largest limit',
      'hits of a descriptor of 2^53',
      'hits of a descriptor of 2^62',
    ],
    fields: /^\.stats\.\w+\.total_hits$/,
  },
  {
    there: 'a counter knows no bound',
    here: 'it goes to 2^32 - 1',
    reason: 'no limit is above it: a look at the largest limit of all, exceeded, is OK',
    cases: ['hits of a descriptor of 2^32, on the largest limit'],
    fields: /^\.answers\.1\.(overallCode|statuses\.0\.code)$/,
  },
  {
    there: '`is_negative_hits` is not read: the hits are charged',
    here: 'they are given back, and counted as `total_negative_hits`',
    reason: 'that is what the protocol says',
    cases: ['negative hits', 'negative hits of the request'],
    fields: /^\.(answers\.\d\.statuses\.0\.limitRemaining|stats\.user\.\w+)$/,
  },
  {
    there: 'a name is sent as it is',
    here: 'quotes, backslashes, `%`, control characters and all beyond ASCII are percent-encoded',
    reason: 'Envoy puts the name into a header between quotes, and clients read other bytes each in its way',
    cases: ['accent', 'kanji', 'quoted', 'slash', 'tab'].map((key) => `a name: ${key}=x`),
    fields: /\.currentLimit\.name$/,
  },
  {
    there:
      'key and value are joined by `_` before they are compared: `a_b` with `c` is also `a` with `b_c`, on one counter',
    here: 'keys and values are compared one by one',
    reason: 'a caller who chooses a value would reach the rule, and the counter, of another key',
    cases: ['texts: a_b=c', 'texts: an underscore between key and value'],
    fields: /^\.(answers\.\d\.statuses\.0\.(currentLimit\.requestsPerUnit|limitRemaining)|stats\.a_b(_c)?\.\w+)$/,
  },
  {
    there: '`*` in a key stands for any text',
    here: 'only in a value; a key is compared as it is',
    reason: 'it follows from the joining, and is not documented',
    cases: ['texts: prefix=x', 'texts: pre*=x'],
    fields: /^\.(answers\.0\.statuses\.0\.\w+|stats\..*)$/,
  },
  {
    there: 'the `metadata` of a rule with `detailed_metric`, or with `value_to_metric`, is not reported',
    here: 'it is',
    reason: 'it gets lost there when the name of the counts is made',
    cases: ['metadata: value_to_metric', 'metadata: detailed_metric'],
    fields: /\.dynamicMetadata\.metadata$/,
  },
  {
    there:
      'of several hits that cross the limit together, `over_limit` counts those beyond it, `near_limit` some of the others',
    here: '`over_limit` counts all hits of a refused request',
    reason: 'a verdict does not say how much remained before',
    cases: [
      'the same descriptor twice in a request',
      'hits that do not fit count too',
      'hits above the limit',
      'hits far above the limit',
      'hits above the limit of one of two',
      'a look beyond the limit',
      'debits after the response, beyond the limit',
      'a debit above the limit',
      'hits of a descriptor above 2^32',
      'hits of a descriptor of 2^32, on the largest limit',
      'hits of a descriptor of 2^32 + 1, on the largest limit',
      'hits of a descriptor of 2^53',
      'hits of a descriptor of 2^62',
      'from far to beyond the limit',
      'far beyond the limit at once',
      'shadow: with hits',
      'metrics: hits from below to beyond',
      'metrics: all hits beyond at once',
      'headers: two over the limit, the last is told',
      'hits',
      'hits of two',
      'quotas: several hits',
    ],
    fields: STATS,
  },
  {
    there:
      'with `STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT`, a limit in shadow mode (with `SHADOW_MODE`, any limit) that is over keeps the others from counting',
    here: 'it does not',
    reason: 'a limit that only reports has no say',
    cases: ['with a limit in shadow mode', 'quotas: with one in shadow mode'],
    fields: /^\.(answers\.\d\.(overallCode|statuses\.\d\.(code|limitRemaining))|stats\.(user|pool_b)\.\w+)$/,
  },
]
