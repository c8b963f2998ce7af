// @ts-check
// node ledger-writer.mjs NAME SEED TOKEN: sixteen callers that reserve, commit, release, leave reservations alone and
// book events at the doors of services, whose addresses come as lines of standard input, until that ends. Each answer
// that came is a line. What was not answered is asked again, of any service, with the same id.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [, , name, seed, token] = process.argv
const CUSTOMERS = ['hot', 'hot', 'hot', 'warm', 'lent']
const CALLERS = 16
const AGAIN_MS = 20

let state = Number(seed)
/** @param {number} limit */
const below = (limit) => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}

/** @type {string[]} */
let services = []
let isOver = false
const lines = createInterface({ input: process.stdin })
const begun = new Promise((resolve) => {
  lines.on('line', (line) => {
    services = line.split(' ')
    resolve(undefined)
  })
})
lines.on('close', () => {
  isOver = true
})

/**
 * Asks until there is an answer that says something: neither that the service is away, nor that the database is, nor
 * that the request is in flight.
 * @param {string} path
 * @param {object} body
 * @returns {Promise<{ status: number, json: any }>}
 */
async function ask(path, body) {
  for (;;) {
    const from = services[below(services.length)]
    try {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${from}/v1/ledger/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      const json = /** @type {any} */ (await response.json())
      const { status } = response
      if (status < 500 && json.code !== 'IDEMPOTENCY_IN_PROGRESS') return { status, json }
      if (status >= 500 && status !== 503) throw new Error(`${path} ${status} ${JSON.stringify(json)}`)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** @param {unknown[]} fields */
const confirm = (...fields) => writeSync(1, `${fields.join(' ')}\n`)

/** @param {number} caller */
async function run(caller) {
  for (let n = 0; !isOver; n++) {
    const customer = CUSTOMERS[below(CUSTOMERS.length)]
    const id = `${name}-${caller}-${n}`
    const whose = { customer, meter: 'exports', id }
    if (below(4) === 0) {
      const amount = 1 + below(3)
      const { json } = await ask('events', { events: [{ ...whose, amount }] })
      const [{ result, code }] = json.results
      if (result === 'refused' && code !== 'LEDGER_SHORT') throw new Error(code)
      if (result !== 'refused') confirm('used', customer, id, amount)
      continue
    }
    const amount = 1 + below(6)
    const reserved = await ask('reserve', { ...whose, amount, hold_seconds: below(3) === 0 ? 1 : 600 })
    if (reserved.status === 402) continue
    if (reserved.status !== 200) throw new Error(JSON.stringify(reserved))
    confirm('reserved', customer, id, amount)
    const then = below(6)
    if (then === 0) continue
    // Now and then more than was reserved, and at the same time twice.
    const used = then === 1 ? 0 : 1 + below(amount + 1)
    const commits = [ask('commit', { ...whose, used }), ...(then === 2 ? [ask('commit', { ...whose, used })] : [])]
    for (const { status, json } of await Promise.all(commits)) {
      if (status !== 200) throw new Error(JSON.stringify(json))
      confirm(used === 0 ? 'released' : 'used', customer, id, used)
    }
  }
}

await begun
await Promise.all(Array.from({ length: CALLERS }, (_, caller) => run(caller)))
