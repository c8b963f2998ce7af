import { describe, expect, it } from 'vitest'
import { checkOptions } from './check-options.ts'
import {
  BOOLEAN,
  DURATION,
  either,
  FUNCTION,
  fields,
  HITS,
  has,
  listOf,
  MS,
  oneOf,
  TEXT,
  whole,
} from './option-forms.ts'

const FORMS = {
  count: whole(0, 9),
  hits: either(HITS, FUNCTION),
  when: either(oneOf('failure', 'success'), FUNCTION),
  after: DURATION,
  ms: MS,
  name: TEXT,
  isOn: BOOLEAN,
  clock: has('nowMs'),
  by: either(oneOf('ip', 'api_key'), listOf(oneOf('ip', 'api_key'))),
  inside: fields({ strict: BOOLEAN }),
  limits: listOf(fields({ limit: whole(0, 9, 'LIMIT_INVALID') })),
}

describe('checkOptions', () => {
  it('takes what is of the right form, and undefined for what is not given', () => {
    checkOptions(
      {
        count: 9,
        hits: Number.POSITIVE_INFINITY,
        when: 'failure',
        after: '1h30m',
        ms: 0.5,
        name: 'a',
        isOn: false,
        clock: { nowMs: () => 0, more: 1 },
        by: ['ip', 'api_key'],
        inside: { strict: true },
        limits: [{ limit: 1 }],
      },
      FORMS,
    )
    checkOptions({ count: undefined, when: () => true, hits: () => 1, after: 0, by: 'ip' }, FORMS)
  })

  it.each<[object, string]>([
    [{ coutn: 1 }, 'OPTION_UNKNOWN: coutn: unknown option, did you mean "count"?'],
    [{ zzz: 1 }, 'OPTION_UNKNOWN: zzz: unknown option.'],
    [{ inside: { strickt: true } }, 'OPTION_UNKNOWN: inside.strickt: unknown option, did you mean "strict"?'],
    [{ count: '2' }, 'count: got "2", expected a whole'],
    [{ count: Number.NaN }, 'count: got NaN, expected a whole number'],
    [{ count: -1 }, 'GATE_OPTIONS_INVALID: count: got -1, expected a whole number from 0 to 9'],
    [{ count: 1.5 }, 'count: got 1.5, expected a whole number from 0 to 9'],
    [{ count: null }, 'count: got null, expected a whole number from 0 to 9'],
    [{ hits: '2' }, 'hits: got "2", expected a whole number from 0 or a function; write Number(process.env.X)'],
    [{ hits: -1 }, 'hits: got -1, expected a whole number from 0 or a function'],
    [{ when: 'failures' }, 'when: got "failures", expected failure, success or a function, did you mean "failure"?'],
    [{ when: true }, 'when: got true, expected failure, success or a function'],
    [{ after: 60 }, "DURATION_UNIT_MISSING: after: got 60; write '60s' for seconds, '60ms' for milliseconds"],
    [{ after: 60_000 }, "after: got 60000; write '60000s' for seconds, '1m' for milliseconds"],
    [{ after: 'soon' }, 'DURATION_INVALID: after: got "soon"'],
    [{ ms: '60000' }, 'ms: got "60000", expected a number of milliseconds; write Number(process.env.X)'],
    [{ ms: 0 }, 'ms: got 0, expected a number of milliseconds'],
    [{ name: '' }, 'name: got "", expected a text'],
    [{ isOn: 'true' }, 'isOn: got "true", expected true or false'],
    [{ clock: {} }, 'clock: got an object, expected an object with nowMs'],
    [
      { by: 'apikey' },
      'by: got "apikey", expected ip, api_key or a list, each of ip or api_key, did you mean "api_key"?',
    ],
    [{ by: ['ip', 'apikey'] }, 'by[1]: got "apikey", expected ip or api_key, did you mean "api_key"?'],
    [{ by: [] }, 'by: got an empty list'],
    [{ inside: true }, 'inside: got true, expected an object'],
    [{ limits: [{ limit: -1 }] }, 'LIMIT_INVALID: limits[0].limit: got -1. A limit must be'],
    [[], 'options: got an empty list, expected an object'],
  ])('refuses %o', (options, message) => {
    expect(() => checkOptions(options, FORMS)).toThrow(message)
  })
})
