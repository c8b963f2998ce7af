// @ts-check

/** FILE_RULES are the rules that the company ships with its gateway. */
export const FILE_RULES = `# The gateway's own limits. They change with a deployment.
domain: edge
defaults: { timeout_ms: 2000 }
descriptors:
  # Nobody has a thousand clients behind one address, except offices.
  - key: ip
    rate_limit: { name: address, unit: minute, requests_per_unit: 1200 }
  - key: ip
    cidr: [198.51.100.0/24]
    rate_limit: { name: office, unlimited: true }

  # Stolen passwords are tried on many accounts.
  - key: login
    secret: true
    rate_limit: { name: login, algorithm: sliding_log, window: 15m, requests_per_unit: 10, count_denied: true }
`

/**
 * BILLING_RULES count what a customer asked for in a month, which the request names: no rule knows its values. A seat is taken for a year
 * from the first request on. Pages are paid from the ledger.
 */
export const BILLING_RULES = `domain: billing
defaults: { timeout_ms: 5000 }
descriptors:
  - key: customer
    rate_limit: { name: calls, algorithm: fixed_window, calendar: { unit: year, time_zone: customer }, requests_per_unit: 9 }
    descriptors:
      - key: month
        rate_limit: { name: reports, algorithm: fixed_window, unit: day, requests_per_unit: 3 }
  - key: seat
    rate_limit: { name: seats, algorithm: fixed_window, unit: year, anchor: first_hit, requests_per_unit: 1 }
  - key: print
    descriptors:
      - key: customer
        rate_limit: { name: pages, unit: day, requests_per_unit: 1000, ledger: pages }
`

/**
 * The rules of the product, as they were put through the API. Each version is a step of their history.
 * @param {{ freePerMinute?: number, isRatesShadowed?: boolean, hasCarriers?: boolean }} [history]
 */
export function productRules({ freePerMinute = 60, isRatesShadowed = true, hasCarriers = true } = {}) {
  return `# What customers of the parcels API have bought.
domain: parcels
defaults: { timeout_ms: 2000 }
tiers:
  free:
    rate_limit: { name: requests, unit: minute, requests_per_unit: ${freePerMinute} }
    descriptors:
      - key: endpoint
        value: POST /v1/labels
        rate_limit: { name: labels, algorithm: fixed_window, unit: day, requests_per_unit: 100 }
  pro:
    rate_limit: { name: requests, unit: minute, requests_per_unit: 600 }
    descriptors:
      - key: endpoint
        value: POST /v1/labels
        rate_limit: { name: labels, algorithm: fixed_window, unit: day, requests_per_unit: 5000 }
  enterprise:
    rate_limit: { name: requests, unit: minute, requests_per_unit: 6000 }
    descriptors:
      - key: endpoint
        value: POST /v1/labels
        rate_limit: { name: labels, algorithm: fixed_window, unit: day, requests_per_unit: 100000 }
descriptors:
  - key: api_key
    secret: true
    tiered: true
    # Without a tier: enough to try it out.
    rate_limit: { name: requests, unit: minute, requests_per_unit: 30 }
    descriptors:
      - key: endpoint
        value: POST /v1/labels
        rate_limit: { name: labels, algorithm: fixed_window, unit: day, requests_per_unit: 20 }
      - key: endpoint
        value: GET /v1/rates
        rate_limit: { name: rates, algorithm: token_bucket, unit: minute, requests_per_unit: 30, burst: 10 }
        shadow_mode: ${isRatesShadowed}
      - key: export
        rate_limit: { name: exports, algorithm: concurrency, requests_per_unit: 2, lease_ttl: 5m }
${
  hasCarriers
    ? `
  # What the carriers let us do: for all customers together.
  - key: carrier
    rate_limit: { name: carrier, algorithm: leaky_bucket, unit: second, requests_per_unit: 25, burst: 50 }
`
    : ''
}`
}

/**
 * Makes rules of a company's into rules for tests: by the day, so that no window ends while a test counts, and patient
 * with a machine that is busy.
 * @param {string} text
 */
export function exact(text) {
  return text
    .replaceAll(/(name: (?:requests|address)), unit: minute/g, '$1, algorithm: fixed_window, unit: day')
    .replace('timeout_ms: 2000', 'timeout_ms: 5000')
}
