import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { health } from '../../server/src/cli/health.ts'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { printedBy, refusedBy } from './printed.suite.ts'

const RULE = 'The node did not report that it is ready (/readyz of its admin port) or alive (/livez).'
const REACH =
  'Check that the service is running, that --admin is the address of its admin port, and that --token has the required role.'

beforeEach(() => {
  for (const name of ['ADMIN_PORT', 'DEBUG_PORT', 'ADMIN_HOST', 'SLUICE_CONFIG']) vi.stubEnv(name, '')
  return () => vi.unstubAllEnvs()
})

/** An admin port that runs, and is ready or is not. It returns its port. */
async function adminOf({ isReady }: { isReady: boolean }): Promise<number> {
  const server = createServer((request, response) => {
    const isGood = request.url === '/livez' || (request.url === '/readyz' && isReady)
    response.writeHead(isGood ? 200 : 503).end(isGood ? 'ok\n' : 'not ready: draining\n')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

describe('sluice health', () => {
  it('succeeds when the node is ready', async () => {
    const port = await adminOf({ isReady: true })
    expect(await printedBy(health, ['--admin', `127.0.0.1:${port}`])).toBe('ok\n')
  })

  it('fails when the node is not, and says why', async () => {
    const port = await adminOf({ isReady: false })
    expect(await refusedBy(health, ['--admin', `127.0.0.1:${port}`])).toBe(
      `NOT_HEALTHY: http://127.0.0.1:${port}/readyz: answered 503: not ready: draining. ${RULE}`,
    )
  })

  it('asks only whether the process runs with --live', async () => {
    const port = await adminOf({ isReady: false })
    expect(await printedBy(health, ['--live', '--admin', `127.0.0.1:${port}`])).toBe('ok\n')
  })

  it('fails when nothing answers', async () => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    expect(await refusedBy(health, ['--admin', `127.0.0.1:${port}`])).toBe(
      `ADMIN_UNREACHABLE: http://127.0.0.1:${port}/: no answer: ECONNREFUSED. ${REACH}`,
    )
  })

  it.each(['ADMIN_PORT', 'DEBUG_PORT'])('finds the service that is set up by %s', async (name) => {
    vi.stubEnv(name, String(await adminOf({ isReady: true })))
    vi.stubEnv('ADMIN_HOST', '0.0.0.0')
    expect(await printedBy(health, [])).toBe('ok\n')
  })

  it('finds the service that a config file sets up', async () => {
    const file = `admin_port: ${await adminOf({ isReady: true })}\nadmin_host: 127.0.0.1\n`
    vi.stubEnv('SLUICE_CONFIG', new RuleDirectory({ 'sluice.yaml': file }).at('sluice.yaml'))
    expect(await printedBy(health, [])).toBe('ok\n')
  })

  it('takes no arguments other than its flags', async () => {
    expect(await refusedBy(health, ['now'])).toBe(
      'FLAG_UNKNOWN: health: got "now". Run the command with --help to list its flags.',
    )
  })
})
