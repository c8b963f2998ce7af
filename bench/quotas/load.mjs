import { Agent, request } from 'node:http'

// Asks two nodes for decisions on connections that stay open, as fast as they answer, until it is ended. Once a second it reports
// how many were answered.

const ADDRESSES = process.argv.slice(2)
const CONNECTIONS = 16
const CALLERS = 1_000

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
const headers = { 'content-type': 'application/json' }
let answered = 0
let next = 0

function ask(address) {
  return new Promise((resolve) => {
    const api_key = `key-${next++ % CALLERS}`
    const sent = request(`http://${address}/v1/check`, { method: 'POST', headers, agent }, (response) => {
      response.resume().on('end', resolve)
    })
    sent.on('error', resolve)
    sent.end(JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'api_key', value: api_key }] }] }))
  })
}

async function keepAsking(address) {
  for (;;) {
    await ask(address)
    answered++
  }
}

for (const address of ADDRESSES) for (let i = 0; i < CONNECTIONS; i++) void keepAsking(address)
setInterval(() => process.send?.(answered), 1_000)
