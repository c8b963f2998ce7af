import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { keepAsking, type Load } from './load.suite.ts'

const BODY = JSON.stringify({ domain: 'load', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }], cost: 0 })
const HEADERS = { 'Content-Type': 'application/json', 'Content-Length': BODY.length }

/** Asks over HTTP. A caller that cannot even connect to a node goes on to the next one. */
export function startHttpLoad(urls: readonly string[], callers: number): Load {
  const agent = new Agent({ keepAlive: true })
  const nodes = Array.from({ length: callers }, (_, i) => i)
  const ask = async (url: string): Promise<void> => {
    const asked = request(`${url}/v1/check`, { agent, method: 'POST', headers: HEADERS })
    asked.end(BODY)
    const [response] = await once(asked, 'response')
    response.resume()
    await once(response, 'end')
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
  }
  const call = async (caller: number): Promise<void> => {
    for (;;) {
      try {
        await ask(urls[nodes[caller] % urls.length])
        return
      } catch (error) {
        // Nothing was sent: any balancer would go on to the next node.
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error
        nodes[caller]++
      }
    }
  }
  return keepAsking(callers, call, () => agent.destroy())
}
