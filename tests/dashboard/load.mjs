// @ts-check
import { setTimeout as pause } from 'node:timers/promises'
import { keyOf, PEOPLE } from './people.mjs'

const ENDPOINTS = ['GET /v1/rates', 'POST /v1/labels', 'GET /v1/tracking', 'POST /v1/pickups']
const CARRIERS = ['dhl', 'ups', 'posten']

/** What a request asks about, the n-th: who asks and for what follows from n alone. */
function requestOf(/** @type {number} */ n) {
  const { id } = chosen(n)
  const api_key = { key: 'api_key', value: keyOf(id) }
  const endpoint = { key: 'endpoint', value: ENDPOINTS[(n * 7) % ENDPOINTS.length] }
  const descriptors = [{ entries: [api_key] }, { entries: [api_key, endpoint] }]
  if (n % 3 === 0) descriptors.push({ entries: [{ key: 'carrier', value: CARRIERS[n % CARRIERS.length] }] })
  return { domain: 'parcels', descriptors }
}

/** Large customers ask more; two small ones more than they may; one is blocked. */
const GREEDY = ['dust-and-vinyl', 'paper-lantern', 'nightowl-games']
const WEIGHTED = PEOPLE.flatMap((person) => {
  const weight = GREEDY.includes(person.id) ? 9 : Math.ceil(Math.log10(person.daily) * 2 - 3)
  return Array.from({ length: Math.max(1, weight) }, () => person)
})
const chosen = (/** @type {number} */ n) => WEIGHTED[(Math.imul(n + 1, 0x9e3779b1) >>> 0) % WEIGHTED.length]

/**
 * Asks a service for decisions, so many a second and a few at once, until it is stopped or has asked `most` times.
 * @param {readonly string[]} urls of the HTTP doors of nodes
 * @param {{ perSecond: number, most?: number, atOnce?: number }} options
 */
export function startLoad(urls, { perSecond, most = 100_000, atOnce = 8 }) {
  const told = { asked: 0, admitted: 0, refused: 0, failed: 0 }
  let isOver = false
  let sent = 0
  const began = performance.now()
  const one = async () => {
    while (!isOver && sent < most) {
      const n = sent++
      const wait = (n * 1000) / perSecond - (performance.now() - began)
      if (wait > 0) await pause(wait)
      if (isOver) return
      try {
        const response = await fetch(`${urls[n % urls.length]}/v1/check`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(requestOf(n)),
        })
        await response.arrayBuffer()
        told[response.status === 200 ? 'admitted' : response.status < 500 ? 'refused' : 'failed']++
      } catch {
        told.failed++
      }
      told.asked++
    }
  }
  const workers = Promise.all(Array.from({ length: atOnce }, one))
  return {
    told,
    async stop() {
      isOver = true
      await workers
      return told
    },
  }
}
