const text = (field, value) => Buffer.concat([Buffer.of((field << 3) | 2, value.length), Buffer.from(value)])
const entry = (key, value) => text(1, Buffer.concat([text(1, key), text(2, value)]))

/** How many callers there are. Each has counters of its own. */
export const CALLERS = 10_000
const DIGITS = 5
const PLACE = '0'.repeat(DIGITS)
const CODE_OK = 1
/** A message follows one byte of flags and four of length, and begins with the tag of its overall code. */
const CODE_AT = 6

/** requestOf is what Envoy asks about one caller: one descriptor, or two with three entries. */
function requestOf(descriptors) {
  const one = [text(2, entry('api_key', `sk_live_7d1f0b6a2c9e4853d${PLACE}`))]
  const two = [
    text(2, entry('remote_address', `10.0.${PLACE}`)),
    text(2, Buffer.concat([entry('user', `user-${PLACE}`), entry('path', '/v1/orders')])),
  ]
  return Buffer.concat([text(1, 'bench'), ...(descriptors === 1 ? one : two)])
}

/** placesOf finds where the number of the caller stands in a request. */
function placesOf(request) {
  const places = []
  for (let at = request.indexOf(PLACE); at >= 0; at = request.indexOf(PLACE, at + DIGITS)) places.push(at)
  return places
}

/**
 * trafficOf asks about one caller after the other, in an order that looks random and is the same each time. An answer is
 * right when its overall code is OK: every limit is far away.
 */
export function trafficOf(descriptors, isChecked) {
  const request = requestOf(descriptors)
  const places = placesOf(request)
  const numbers = Array.from({ length: CALLERS }, (_, i) => Buffer.from(String(i).padStart(DIGITS, '0')))
  return {
    request,
    vary: (bytes, at, call) => {
      const number = numbers[(call * 7_919) % CALLERS]
      for (const place of places) bytes.set(number, at + place)
    },
    isRight: isChecked ? (bytes, at) => bytes[at + CODE_AT] === CODE_OK : undefined,
  }
}

/**
 * rulesOf are rules for either traffic: limits that nobody reaches. What Redis did not decide is refused, and so counts as
 * a failure: an answer of the failure policy is none.
 */
export function rulesOf(consistency) {
  const policy = 'on_store_failure: closed, timeout_ms: 1000'
  const limit = `{unit: hour, requests_per_unit: 1000000000, consistency: ${consistency}, ${policy}}`
  return `domain: bench
descriptors:
  - {key: api_key, rate_limit: ${limit}}
  - {key: remote_address, rate_limit: ${limit}}
  - key: user
    descriptors:
      - {key: path, rate_limit: ${limit}}
`
}
