import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { json, text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { startWhole } from './service.suite.ts'

// DNS rebinding: a page on evil.example whose name leads to this machine a moment later asks the admin port, which its
// browser takes for evil.example. The name is all that gives it away.

/** Sends a request for a path under a name, and returns the status and the code of the problem. */
async function ask(url: string, host: string, path = '/stats?format=json'): Promise<[number, string | undefined]> {
  const asked = request(url + path, { headers: { host, connection: 'close' } })
  asked.end()
  const [response] = await once(asked, 'response')
  const { code } = (await json(response)) as { code?: string }
  return [response.statusCode, code]
}

describe('the admin port', () => {
  it.each([
    'evil.example',
    'evil.example:8082',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.1.',
    '[::1',
    '0x7f.1',
    'a@127.0.0.1',
    'localhost:8082@evil.example',
  ])('answers 421 to a name that is not its own: "%s"', async (host) => {
    const { admin } = await startWhole()
    for (const path of ['/stats', '/rlconfig', '/', '/nowhere']) {
      expect(await ask(admin, host, path)).toEqual([421, 'HOST_UNKNOWN'])
    }
  })

  it.each(['localhost', 'LOCALHOST:8082', '127.0.0.1', '127.0.0.1:1', '10.1.2.3:8082', '[::1]', '[2001:db8::1]:8082'])(
    'answers to %s',
    async (host) => {
      const { admin } = await startWhole()
      expect(await ask(admin, host)).toEqual([200, undefined])
    },
  )

  it('answers to names that were set, and to the one that it listens on', async () => {
    const { admin } = await startWhole(['--admin-host=localhost', '--admin-names=Sluice.internal, sluice-0'])
    expect(await ask(admin, 'sluice.INTERNAL:8082')).toEqual([200, undefined])
    expect(await ask(admin, 'sluice-0')).toEqual([200, undefined])
    expect(await ask(admin, 'localhost')).toEqual([200, undefined])
    expect(await ask(admin, 'internal')).toEqual([421, 'HOST_UNKNOWN'])
  })

  it('answers what names no host at all: no browser sends that', async () => {
    const { admin } = await startWhole()
    const socket = connect(Number(new URL(admin).port), '127.0.0.1')
    socket.write('GET /stats HTTP/1.0\r\n\r\n')
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })

  it('says which names it takes, and how to add one', async () => {
    const { admin } = await startWhole()
    const asked = request(admin, { headers: { host: 'evil.example', connection: 'close' } })
    asked.end()
    const [response] = await once(asked, 'response')
    expect(await json(response)).toEqual({
      type: 'about:blank',
      title: 'Misdirected Request',
      status: 421,
      detail:
        'HOST_UNKNOWN: host: got "evil.example". The admin port accepts IP addresses, localhost, --admin-host and the names in --admin-names. Add the name to --admin-names.',
      code: 'HOST_UNKNOWN',
    })
  })
})
