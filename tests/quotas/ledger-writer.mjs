// @ts-check
// node ledger-writer.mjs URL NAME SEED: sixteen callers that reserve, commit, release, leave reservations alone and
// book events, on a ledger of its own, until standard input ends. Each answer that came is a line. What was not
// answered is asked again.
import { writeSync } from 'node:fs'
import { Ledger } from '../../server/dist/ledger/ledger.js'
import { openQuotas } from '../../server/dist/quotas/open/open-quotas.js'

const [, , url, name, seed] = process.argv
const CUSTOMERS = ['hot', 'hot', 'hot', 'warm', 'lent']
const CALLERS = 16

let state = Number(seed)
/** @param {number} limit */
const below = (limit) => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}

async function open() {
  for (;;) {
    try {
      return await openQuotas({ url })
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

const quotas = await open()
const ledger = new Ledger(quotas.db, { mostOfBatch: 40 })
let isOver = false
process.stdin.resume().on('end', () => {
  isOver = true
})

/**
 * @param {string} customer
 * @param {import('../../server/dist/ledger/core/account-state.js').Operation} operation
 */
async function ask(customer, operation) {
  for (;;) {
    try {
      return (await ledger.ask(customer, 'exports', operation)).outcome
    } catch (error) {
      if (/** @type {{ code?: string }} */ (error).code !== 'DATABASE_UNAVAILABLE') throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** @param {unknown[]} fields */
const confirm = (...fields) => writeSync(1, `${fields.join(' ')}\n`)

/** @param {number} caller */
async function run(caller) {
  for (let n = 0; !isOver; n++) {
    const customer = CUSTOMERS[below(CUSTOMERS.length)]
    const id = `${name}-${caller}-${n}`
    if (below(4) === 0) {
      const amount = 1 + below(3)
      const { kind } = await ask(customer, { kind: 'event', id, amount })
      if (kind === 'settled') confirm('used', customer, id, amount)
      continue
    }
    const amount = 1 + below(6)
    const reserved = await ask(customer, { kind: 'reserve', id, amount, holdMs: below(3) === 0 ? 1 : 60_000 })
    if (reserved.kind !== 'reserved') continue
    confirm('reserved', customer, id, amount)
    const then = below(6)
    if (then === 0) continue
    // Now and then more than was reserved, and at the same time twice.
    const used = then === 1 ? 0 : 1 + below(amount + 1)
    const asked = { kind: /** @type {const} */ ('commit'), id, used }
    const answers = await Promise.all([ask(customer, asked), ...(then === 2 ? [ask(customer, asked)] : [])])
    for (const { kind } of answers) confirm(kind === 'settled' ? 'used' : kind, customer, id, used)
  }
}

await Promise.all(Array.from({ length: CALLERS }, (_, caller) => run(caller)))
await quotas.close()
