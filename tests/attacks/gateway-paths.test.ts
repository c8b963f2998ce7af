import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routesFile, startGateway } from '../../server/src/app/gateway/gateway.suite.ts'
import { PATH_SPELLINGS, PATH_UPSTREAMS, type PathUpstream } from '../fixtures/path-spellings.ts'
import { type Answered, ask, type RunningUpstream, startUpstream } from './path-upstreams.suite.ts'

const LIMIT = 2
const FILE = `
upstreams: { app: APP }
routes:
  - { name: login, path: /login, limits: [{ requests_per_unit: ${LIMIT}, unit: hour, by: { header: x-run } }] }
  - { name: rest, limits: [100000/1h] }
`

/** Starts a gateway before an upstream, with a routes file in which APP stands for it. */
async function gatewayTo({ url }: RunningUpstream, text: string): Promise<string> {
  const running = await startGateway(['--routes', routesFile(text.replaceAll('APP', url)).file])
  return running.url
}

const upstreams = new Map<PathUpstream, RunningUpstream>()
const upstream = (name: PathUpstream): RunningUpstream => upstreams.get(name) as RunningUpstream

beforeAll(async () => {
  for (const name of PATH_UPSTREAMS) upstreams.set(name, await startUpstream(name))
})
afterAll(async () => {
  for (const { close } of upstreams.values()) await close()
})

describe.each(PATH_UPSTREAMS)('on %s', (name) => {
  it('the forms that the fixture names reach the handler of /login without a gateway', async () => {
    const served: string[] = []
    for (const { sent } of PATH_SPELLINGS) {
      if ((await ask(upstream(name).url, sent)).handler === 'login') served.push(sent)
    }
    expect(served).toEqual(PATH_SPELLINGS.filter(({ servedBy }) => servedBy.includes(name)).map(({ sent }) => sent))
  })

  it('no form reaches the handler of /login when its limit is used up', async () => {
    const url = await gatewayTo(upstream(name), FILE)
    const run = { 'x-run': 'all' }
    const first: Answered[] = []
    for (let i = 0; i < LIMIT; i++) first.push(await ask(url, '/login', run))
    expect(first.map(({ handler }) => handler)).toEqual(['login', 'login'])
    for (const { sent, charged, forwarded } of PATH_SPELLINGS) {
      const { status, handler, target } = await ask(url, sent, run)
      expect([sent, handler]).not.toEqual([sent, 'login'])
      if (handler !== '') expect([sent, target]).toEqual([sent, forwarded])
      const expected = charged === 'login' ? [429] : charged === 400 ? [400] : [200, 404, 400]
      expect(expected, `${sent} is charged to ${charged}`).toContain(status)
    }
  })

  it('no more requests than the limit reach the handler by one form', async () => {
    const url = await gatewayTo(upstream(name), FILE)
    for (const { sent, forwarded, charged } of PATH_SPELLINGS) {
      if (charged !== 'login') continue
      const run = { 'x-run': sent }
      for (let i = 0; i < LIMIT; i++) {
        const { status, target, handler } = await ask(url, sent, run)
        expect([sent, status]).not.toEqual([sent, 429])
        if (handler !== '') expect([sent, target]).toEqual([sent, forwarded])
      }
      const after = [await ask(url, sent, run), await ask(url, '/login', run)]
      expect([sent, ...after.map(({ status }) => status)]).toEqual([sent, 429, 429])
    }
  })
})

describe('a path of a request', () => {
  it('is counted as one where literal segments differ in case, and apart where callers choose a segment', async () => {
    const text = `
upstreams: { app: APP }
routes:
  - { path: '/Users/{id}', limits: [{ requests_per_unit: 1, unit: hour, by: { parameter: id } }] }
  - { name: rest, unlimited: true }
`
    const url = await gatewayTo(upstream('loose'), text)
    const found: [number, string][] = []
    for (const path of ['/users/Bob', '/USERS/Bob', '/users/BOB', '/users/Bo%62', '/users/Bob;a=1', '/users/Bob/']) {
      const { status, target } = await ask(url, path)
      found.push([status, target])
    }
    expect(found).toEqual([
      [200, '/users/Bob'],
      [429, ''],
      [200, '/users/BOB'],
      [429, ''],
      [429, ''],
      [429, ''],
    ])
  })

  it('is case-sensitive where the file or the route says so', async () => {
    const limits = 'limits: [{ requests_per_unit: 1, unit: hour, by: everyone }]'
    const text = `
upstreams: { app: APP }
case_sensitive: true
routes:
  - { name: one, path: /login, ${limits} }
  - { name: two, path: /Login, ${limits} }
  - { name: three, path: /other, case_sensitive: false, ${limits} }
`
    const url = await gatewayTo(upstream('Node'), text)
    const found: number[] = []
    for (const path of ['/login', '/Login', '/login', '/Login', '/LOGIN', '/other', '/OTHER']) {
      found.push((await ask(url, path)).status)
    }
    expect(found).toEqual([200, 200, 429, 429, 404, 200, 429])
  })

  it('keeps encoded slashes of ids where its route says so, and never dots around them', async () => {
    const text = `
upstreams: { app: APP }
routes:
  - { path: '/projects/{id}/issues', encoded_slashes: keep, limits: [{ requests_per_unit: 1, unit: hour, by: { parameter: id } }] }
  - { name: rest, limits: [1000/1h] }
`
    const url = await gatewayTo(upstream('Express'), text)
    const found: [number, string][] = []
    for (const id of [
      'a%2Fb',
      'a%2fb',
      'a%2Fc',
      '..%2fb',
      'b%2f..',
      'a%2f%2fb',
      '%2fa',
      'a%2f',
      'a%5c..%5cb',
      'x%252fy',
    ]) {
      const { status, target } = await ask(url, `/projects/${id}/issues?x=%2f`)
      found.push([status, target])
    }
    expect(found).toEqual([
      [200, '/projects/a%2Fb/issues?x=%2f'],
      [429, ''],
      [200, '/projects/a%2Fc/issues?x=%2f'],
      ...Array<[number, string]>(6).fill([400, '']),
      [200, '/projects/x%252fy/issues?x=%2f'],
    ])
    const { status, text: body } = await ask(url, '/files/a%2Fb')
    expect([status, JSON.parse(body).code]).toEqual([400, 'GATEWAY_PATH_AMBIGUOUS'])
  })

  it('is forwarded as it was sent where the routes say so, which the log warns of', async () => {
    const app = upstream('Node')
    const { file } = routesFile(FILE.replace('APP', app.url).replace('upstreams', 'forward_path: as_sent\nupstreams'))
    const { url, lines } = await startGateway(['--routes', file])
    expect((await ask(url, '/x//../%6cogin')).target).toBe('/x//../%6cogin')
    expect(lines.join('\n')).toContain('forward_path: as_sent ("login", "rest")')
  })

  it('is refused by its code, with what is wrong', async () => {
    const url = await gatewayTo(upstream('Node'), FILE)
    const { status, text } = await ask(url, '/x/..%2flogin')
    expect(status).toBe(400)
    expect(JSON.parse(text)).toMatchObject({ code: 'GATEWAY_PATH_AMBIGUOUS' })
    // The connection is good: the next request on it is answered.
    expect((await ask(url, '/login')).handler).toBe('login')
  })

  it('of 60 KB is answered, however it is made', async () => {
    const url = await gatewayTo(upstream('Node'), FILE)
    const parts = ['/..', '/%2e%2e', '//', '/a;b', '%6c', '%C3%A9', '%25', '/A']
    for (const part of parts) {
      const path = `/x${part.repeat(Math.floor(60_000 / part.length))}`
      expect([part, (await ask(url, path)).status]).toEqual([part, 200])
    }
  })
})

describe('rules of a domain about paths', () => {
  const RULES = `
domain: api
descriptors:
  - { key: path, value: /Login, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: path, value: '/files/*', share_threshold: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
`
  const routes = (more: string): string => `
upstreams: { app: APP }
routes:
  - { name: all, domain: api${more} }
`
  const start = async (more: string): Promise<string> => {
    const app = upstream('loose')
    const args = ['--routes', routesFile(routes(more).replace('APP', app.url)).file, '--rules', routesFile(RULES).file]
    return (await startGateway(args)).url
  }
  const reached = async (url: string, ...paths: string[]): Promise<number[]> => {
    const found: number[] = []
    for (const path of paths) found.push((await ask(url, path)).status)
    return found
  }

  it('hold for every form, however their author wrote a path', async () => {
    const url = await start('')
    const logins = ['/login', '/LOGIN', '/login/', '/x/../login', '/%6cogin', '/login;x=1', '/login;y']
    expect(await reached(url, ...logins)).toEqual([200, 429, 429, 429, 429, 429, 429])
    expect(await reached(url, '/files/a', '/FILES/b', '/files')).toEqual([200, 429, 429])
  })

  it('distinguish paths by case where the route does', async () => {
    const url = await start(', case_sensitive: true')
    expect(await reached(url, '/login', '/Login', '/Login', '/login')).toEqual([200, 200, 429, 200])
  })

  it('are asked about the path that a route without descriptors has, and about the word path', async () => {
    const url = await start(', descriptors: [[path]]')
    expect(await reached(url, '/login', '/LOGIN;x')).toEqual([200, 429])
  })
})
