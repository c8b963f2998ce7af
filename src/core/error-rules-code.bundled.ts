/**
 * The sentences of a bundle: as short as can be, and only where the rest of a message does not say what to do. Values
 * are followed by what was expected (hints-code.bundled.ts).
 */
export const KNOWN_RULES = {
  WINDOW_REQUIRED: 'Give a window, such as "1m".',
  WINDOW_INVALID: 'It must be from 1 ms to 10 years.',
  DURATION_INVALID: 'Write "90s", "1h30m" or "500ms".',
  DURATION_UNIT_MISSING: 'A text has a unit.',
  OPTION_NOT_APPLICABLE: 'Remove it.',
  BURST_INVALID: 'A burst needs a limit of at least 1.',
  RATE_TOO_HIGH: 'Use token_bucket above 512 hits per millisecond.',
  BUCKET_TOO_LARGE: 'Lower the burst or shorten the window.',
  SUB_WINDOWS_INVALID: 'Each must last at least 1 ms.',
  LOG_LIMIT_TOO_HIGH: 'A log has at most 10000 hits.',
  CALENDAR_INVALID: 'Give a unit (day, week, month or year) and an IANA time zone.',
  COST_INVALID: 'It must be a whole number from -4294967295 to 4294967295.',
  KEY_INVALID: 'It must be a string of 1 to 65536 characters.',
  ACQUIRE_NOT_APPLICABLE: 'Only concurrency has permits: use check.',
}
