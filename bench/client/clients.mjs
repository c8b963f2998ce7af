import { Octokit } from '@octokit/core'
import { retry } from '@octokit/plugin-retry'
import { throttling } from '@octokit/plugin-throttling'
import Bottleneck from 'bottleneck'
import got from 'got'
import ky from 'ky'
import OpenAI from 'openai'
import pRetry from 'p-retry'
import { createFetch } from 'sluice-client'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Throws for a refusal, as libraries want it. */
async function answered(url) {
  const response = await fetch(url)
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${response.status}`)
}

/** GitHub refuses with 403. */
const REFUSALS = [403, 429]

/**
 * The clients: each makes a function that gets a URL, however often it has to ask. Retries are as many as they need;
 * all else is their default.
 */
export const CLIENTS = {
  'sluice-client': () => {
    const paced = createFetch()
    return async (url) => void (await (await paced(url)).arrayBuffer())
  },
  'sluice-client under openai': () => {
    const fetch = createFetch()
    return (url) => new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0, fetch }).models.list()
  },
  'plain loop, 1 s apart': () => async (url) => {
    while (
      !(await answered(url).then(
        () => true,
        () => false,
      ))
    )
      await sleep(1_000)
  },
  'p-retry': (_, signal) => (url) => pRetry(() => answered(url), { retries: 30, signal }),
  ky: () => {
    const client = ky.create({ retry: { limit: 30, statusCodes: REFUSALS }, timeout: false })
    return async (url) => void (await client.get(url).arrayBuffer())
  },
  got: () => {
    const client = got.extend({ retry: { limit: 30, statusCodes: REFUSALS } })
    return async (url) => void (await client.get(url).buffer())
  },
  'bottleneck, configured with the limit': (perSecond) => {
    const queue = new Bottleneck({
      reservoir: perSecond,
      reservoirRefreshAmount: perSecond,
      reservoirRefreshInterval: 1_000,
    })
    // What is refused all the same waits a second.
    queue.on('failed', () => 1_000)
    return (url) => queue.schedule(() => answered(url))
  },
  'openai, 30 retries': () => (url) => new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 30 }).models.list(),
  'octokit, throttling and retry': () => {
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const again = () => true
    const throttle = { onRateLimit: again, onSecondaryRateLimit: again }
    const octokit = new (Octokit.plugin(throttling, retry))({ log, throttle, retry: { retries: 30 } })
    return (url) => octokit.request(`GET ${url}`)
  },
}
