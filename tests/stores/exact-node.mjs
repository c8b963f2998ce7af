// A process that spends all it can get of one counter for each algorithm, and reports what it was admitted.
// Usage: node exact-node.mjs KIND ADDRESS TABLE
import { compileLimit } from '../../dist/core/limit.js'
import { EXACT_LIMITS } from './exact-limits.mjs'
import { openStore } from './open-store.mjs'

const [kind, address, part] = process.argv.slice(2)
const { store, close } = await openStore(kind, address, part)
const HITS = 200
const AT_ONCE = 20

/** Asks again where the store said that it does not know, or is overloaded: neither has charged anything here. */
async function isAdmitted(charges) {
  for (;;) {
    try {
      const { verdicts } = await store.acquire(charges)
      return verdicts[0].allowed
    } catch (error) {
      if (error.reason !== 'overloaded') throw error
    }
  }
}

async function spend([name, options]) {
  const charges = [{ key: `${part} ${name}`, limit: compileLimit(options), cost: 1, enforce: true }]
  let admitted = 0
  const work = async () => {
    for (let i = 0; i < HITS / AT_ONCE; i++) if (await isAdmitted(charges)) admitted++
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return [name, admitted]
}

process.once('message', async () => {
  process.send(Object.fromEntries(await Promise.all(Object.entries(EXACT_LIMITS).map(spend))))
  await store.close()
  await close()
  process.disconnect()
})
process.send('ready')
