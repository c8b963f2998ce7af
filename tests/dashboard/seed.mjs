// @ts-check
import { keyOf, PEOPLE } from './people.mjs'
import { productRules } from './rules.mjs'

/** @typedef {import('./stand.mjs').Ask} Ask */

const DAY_MS = 86_400_000
/** @type {(days: number) => string} */
const inDays = (days) => new Date(Date.now() + days * DAY_MS).toISOString()

/**
 * Who works at the company, by the names of their tokens.
 * @type {Record<string, 'viewer' | 'operator' | 'admin'>}
 */
const STAFF = {
  'Maya Lindqvist (support)': 'operator',
  'Jonas Weber (on call)': 'operator',
  'Priya Raman (platform)': 'admin',
  'deploy pipeline': 'admin',
  grafana: 'viewer',
}

/**
 * Fills a service with a company's customers, through the admin API, as the people who work there. It returns their
 * tokens.
 * @param {Ask} ask with the token of an admin
 * @param {(token: string) => Ask} askAs
 */
export async function seed(ask, askAs) {
  /** @type {Record<string, Ask>} */
  const staff = {}
  /** @type {Record<string, string>} */
  const tokens = {}
  for (const [name, role] of Object.entries(STAFF)) {
    const [first] = name.split(' ')
    tokens[first] = String((await ask('POST', 'tokens', { name, role })).token)
    staff[first] = askAs(tokens[first])
  }
  await putRules(staff.Priya, staff.deploy)
  for (const { id, name, tier, zone } of PEOPLE) {
    await staff.deploy('POST', 'customers', {
      id,
      name,
      tier,
      time_zone: zone,
      metadata: { billing_id: `cus_${id.slice(0, 6)}`, ...(tier === 'enterprise' && { contact: 'Priya Raman' }) },
    })
    await staff.deploy('POST', `customers/${id}/keys`, { key: keyOf(id), name: 'production' })
  }
  await change(staff)
  return tokens
}

/**
 * @param {Ask} priya
 * @param {Ask} pipeline
 */
async function putRules(priya, pipeline) {
  const versions = [
    { text: productRules({ freePerMinute: 120, isRatesShadowed: false, hasCarriers: false }), comment: 'first rules' },
    { text: productRules({ freePerMinute: 120, hasCarriers: false }), comment: 'rates in shadow until we know more' },
    { text: productRules({ freePerMinute: 120 }), comment: 'what carriers allow' },
    { text: productRules(), comment: 'free tier: 60 a minute, as announced' },
  ]
  for (const [i, version] of versions.entries()) {
    await (i % 2 === 0 ? pipeline : priya)('PUT', 'rules/active', version, { 'if-match': '*' })
  }
}

/** @param {Record<string, Ask>} staff */
async function change({ Maya, Jonas, Priya }) {
  await Maya('POST', 'customers/mercato-grande/overrides', {
    domain: 'parcels',
    requests_per_unit: 12_000,
    unit: 'minute',
    expires_at: inDays(4),
    ticket: 'SUP-2291',
    reason: 'spring sale, agreed with sales',
  })
  await Maya('POST', 'customers/papercrane/overrides', {
    domain: 'parcels',
    descriptor: 'endpoint:POST /v1/labels',
    requests_per_unit: 8_000,
    unit: 'day',
    expires_at: inDays(12),
    ticket: 'SUP-2304',
    reason: 'moves its warehouse, prints all labels again',
  })
  await Maya('POST', 'customers/vega-outdoor/overrides', {
    domain: 'parcels',
    requests_per_unit: 900,
    unit: 'minute',
    reason: 'until the contract is signed',
  })
  await Maya('POST', 'customers/dust-and-vinyl/overrides', {
    domain: 'parcels',
    descriptor: 'endpoint:POST /v1/labels',
    requests_per_unit: 250,
    unit: 'day',
    expires_at: inDays(5),
    ticket: 'SUP-2317',
    reason: 'Record Store Day, asked by phone',
  })
  await Maya('POST', 'customers/seedling-labs/grants', {
    amount: 5_000,
    expires_at: inDays(30),
    ticket: 'SUP-2310',
    reason: 'sorry for the outage on Tuesday',
  })
  await Maya('POST', 'customers/tinroof-coffee/grants', { amount: 20_000, reason: 'launch week' })
  await Jonas('POST', 'blocks', {
    customer_id: 'nightowl-games',
    status: 403,
    body: 'This account is closed. Write to support@parcels.example.',
    reason: 'chargebacks, see FIN-118',
  })
  await Jonas('POST', 'blocks', { cidr: '203.0.113.0/24', expires_at: inDays(1), reason: 'credential stuffing' })
  await Jonas('POST', 'blocks', { cidr: '2001:db8:bad::/48', expires_at: inDays(2), reason: 'scraper, ignores 429' })
  const quokka = await Priya('GET', 'customers/quokka-kids')
  await Priya(
    'PATCH',
    'customers/quokka-kids',
    { tier: 'pro', reason: 'the contract is signed' },
    { 'if-match': `"${quokka.version}"` },
  )
  await Priya('POST', 'customers/northwind-freight/keys', { name: 'returns portal' })
  await Priya('POST', 'customers/halden-logistics/keys', { name: 'staging', tier: 'free' })
  await Priya('POST', 'webhooks', {
    url: 'https://billing.parcels.example/hooks/sluice',
    description: 'billing: customers near their quota',
    thresholds: [80, 100],
  })
  const rules = await Priya('GET', 'rules?domain=edge')
  if (rules !== undefined) {
    await Jonas('PUT', 'rules/switches', {
      rule: { domain: 'edge', id: 'ip' },
      mode: 'shadow',
      reason: 'an office behind one address was refused',
    })
  }
}

/**
 * Writes what no API can: when customers came, and 30 days of use, by the hour and by the day. Days differ, always in
 * the same way.
 * @param {(sql: string, values: unknown[]) => Promise<unknown>} run on the database
 */
export async function seedPast(run) {
  await run(CAME, [])
  for (const table of ['hourly', 'daily']) {
    const [unit, column] = table === 'hourly' ? ['hour', 'hour'] : ['day', 'day']
    await run(
      `INSERT INTO sluice.usage_${table} (customer_id, api_key_id, limit_name, ${column}, allowed, refused, cost)
       SELECT id, '', limit_name, date_trunc('${unit}', at), sum(allowed), sum(refused), sum(allowed)
       FROM (${HOURS}) AS hours GROUP BY 1, 2, 3, 4 ON CONFLICT DO NOTHING`,
      [JSON.stringify(PEOPLE)],
    )
  }
}

const CAME = `
  UPDATE sluice.customers SET created_at = created_at - (40 + ascii(id) * length(id) % 700) * interval '1 day',
    updated_at = updated_at - (length(id) * 1.7) * interval '1 day'`

// A day has its night and its afternoon, a week its weekend; a month may grow. A refusal comes with the hours that are too busy.
const HOURS = `
  SELECT id, limit_name, at, round(wanted * share * least(1, 1.5 / busy)) AS allowed,
         round(wanted * share * greatest(0, 1 - 1.5 / busy)) AS refused
  FROM (
    SELECT person->>'id' AS id, at, limit_name, share,
      (person->>'daily')::float8 / 24
        * CASE person->>'goes' WHEN 'growing' THEN 0.5 + 0.025 * day WHEN 'quiet' THEN 0.6 ELSE 1 END
        * (1 - 0.85 * cos((extract(hour FROM at) - 3) * pi() / 12))
        * CASE WHEN extract(isodow FROM at) > 5 THEN 0.45 ELSE 1 END
        * (0.9 + 0.2 * abs(sin(day * 1.7 + length(person->>'id')))) AS wanted,
      CASE WHEN person->>'goes' = 'spiky' AND (day * 7 + extract(hour FROM at)::int) % 11 = 0 THEN 2.4
           WHEN person->>'tier' = 'free' AND extract(hour FROM at) BETWEEN 13 AND 16 THEN 1.62 ELSE 1 END AS busy
    FROM jsonb_array_elements($1::text::jsonb) AS person,
         generate_series(date_trunc('day', now()) - interval '29 days', date_trunc('hour', now()) - interval '1 hour', interval '1 hour') AS at,
         LATERAL (SELECT extract(day FROM at - (date_trunc('day', now()) - interval '29 days')) AS day) AS days,
         (VALUES ('parcels/api_key', 1.0), ('parcels/api_key/endpoint=POST /v1/labels', 0.12)) AS limits (limit_name, share)
  ) AS wants`
