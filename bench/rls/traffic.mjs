const text = (field, value) => Buffer.concat([Buffer.of((field << 3) | 2, value.length), Buffer.from(value)])
const entry = (key, value) => text(1, Buffer.concat([text(1, key), text(2, value)]))

/** How many callers there are, each with separate counters. */
export const CALLERS = 10_000
const DIGITS = 5
const PLACE = '0'.repeat(DIGITS)
const CODE_OK = 1
const CODE_OVER_LIMIT = 2
/** Prime, so that every caller comes once before one comes again. */
const STEP = 7_919
/** A message follows one byte of flags and four of length, and begins with the tag of its overall code. */
const CODE_AT = 6

/** What Envoy asks about one caller: one descriptor, or two with three entries. */
function requestOf(descriptors) {
  const one = [text(2, entry('api_key', `sk_live_7d1f0b6a2c9e4853d${PLACE}`))]
  const two = [
    text(2, entry('remote_address', `10.0.${PLACE}`)),
    text(2, Buffer.concat([entry('user', `user-${PLACE}`), entry('path', '/v1/orders')])),
  ]
  return Buffer.concat([text(1, 'bench'), ...(descriptors === 1 ? one : two)])
}

/** Finds where the number of the caller stands in a request. */
function placesOf(request) {
  const places = []
  for (let at = request.indexOf(PLACE); at >= 0; at = request.indexOf(PLACE, at + DIGITS)) places.push(at)
  return places
}

/**
 * Asks about one caller after the other, in an order that looks random and is the same each time. An answer is right
 * when its overall code is OK, or OVER_LIMIT where refusals are due; `codes` counts both.
 */
export function trafficOf(descriptors, { callers = CALLERS, isChecked = true, dueRefusals } = {}) {
  const request = requestOf(descriptors)
  const places = placesOf(request)
  const numbers = Array.from({ length: callers }, (_, i) => Buffer.from(String(i).padStart(DIGITS, '0')))
  const codes = { ok: 0, over: 0 }
  const isRight = (bytes, at) => {
    const code = bytes[at + CODE_AT]
    if (code === CODE_OK) codes.ok++
    else if (code === CODE_OVER_LIMIT) codes.over++
    dueRefusals?.add()
    return code === CODE_OK || (dueRefusals !== undefined && code === CODE_OVER_LIMIT)
  }
  const vary = (bytes, at, call) => {
    const number = numbers[(call * STEP) % callers]
    for (const place of places) bytes.set(number, at + place)
  }
  return { codes, traffic: { request, vary, isRight: isChecked ? isRight : undefined } }
}

/**
 * What Redis did not decide is refused: an answer of the failure policy shows. Overload is to show as a longer wait.
 */
const POLICY = { on_store_failure: 'closed', timeout_ms: 10_000 }

/** A limit that is never reached, and that refills nothing while a benchmark runs. */
export const FAR = { unit: 'day', requests_per_unit: 1_000_000_000 }

/** rulesOf are rules for either traffic. JSON is YAML. */
export function rulesOf(consistency, limit = FAR) {
  const rate_limit = { ...limit, consistency, ...POLICY }
  return JSON.stringify({
    domain: 'bench',
    descriptors: [
      { key: 'api_key', rate_limit },
      { key: 'remote_address', rate_limit },
      { key: 'user', descriptors: [{ key: 'path', rate_limit }] },
    ],
  })
}
