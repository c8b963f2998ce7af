import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../packages/project.suite.ts'
import { makeTemporaryDir } from '../servers/reaper.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { ENV, FREE_PORTS, run } from './sluice-process.suite.ts'

/** Returns a port that is in use until the test ends. */
async function taken(): Promise<number> {
  const server = createServer()
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

const SERVE = ['serve', '--examples', '--host', '127.0.0.1', ...FREE_PORTS]
const GATEWAY = ['gateway', '--to', 'http://127.0.0.1:1', '--no-limit', '--host', '127.0.0.1', ...FREE_PORTS]

describe('a port that is in use', () => {
  it.each([
    ['HTTP', SERVE, '--http-port', 'PORT'],
    ['gRPC', SERVE, '--grpc-port', 'GRPC_PORT'],
    ['the admin port', SERVE, '--admin-port', 'ADMIN_PORT'],
    ['the gateway', GATEWAY, '--port', 'SLUICE_GATEWAY_PORT'],
  ])('is answered for %s with the flag and the variable that set it', async (_, command, flag, variable) => {
    const port = await taken()
    const stderr =
      `PORT_UNAVAILABLE: port ${port} is in use (EADDRINUSE). ` +
      `Stop the other process, or choose a port: ${flag} 0, or ${variable}=0, picks a free one.\n`
    expect(run([...command, flag, String(port)])).toEqual({ status: 1, stdout: '', stderr })
    const others = command.filter((word, i) => word !== flag && command[i - 1] !== flag)
    expect(run(others, { env: { [variable]: String(port) } })).toEqual({ status: 1, stdout: '', stderr })
  })

  it('is answered for metrics in the same way', async () => {
    const port = await taken()
    expect(run([...SERVE, '--prometheus', '--prometheus-address', `127.0.0.1:${port}`]).stderr).toBe(
      `PORT_UNAVAILABLE: port ${port} is in use (EADDRINUSE). Stop the other process, or choose a port: ` +
        '--prometheus-address :0, or PROMETHEUS_ADDR=:0, picks a free one.\n',
    )
  })

  it('is answered by a service with workers', async () => {
    const port = await taken()
    const { url } = await sharedRedis()
    const { status, stderr } = run([...SERVE, '--redis', url, '--workers', '2', '--grpc-port', String(port)])
    expect(status).toBe(1)
    expect(stderr).toContain(`PORT_UNAVAILABLE: port ${port} is in use (EADDRINUSE). Stop the other process, or choose`)
    expect(stderr).toContain('--grpc-port 0, or GRPC_PORT=0')
  })

  it('is answered by npm start with the way to give it a flag', async () => {
    const port = await taken()
    const { status, stderr } = spawnSync('npm', ['start', '--', ...FREE_PORTS, '--http-port', String(port)], {
      cwd: root,
      env: { ...ENV, HOST: '127.0.0.1', SLUICE_DATA: join(makeTemporaryDir('ports'), 'data') },
      encoding: 'utf8',
      timeout: 180_000,
    })
    expect(status).toBe(1)
    expect(stderr).toContain(
      `PORT_UNAVAILABLE: port ${port} is in use (EADDRINUSE). Stop the other process, or choose a port: --http-port 0, or ` +
        'PORT=0, picks a free one.\nsluice: flags of the service follow "--": npm start -- --http-port 0\n',
    )
  })
})

it('an address that this machine does not have is answered with the settings of the address', () => {
  expect(run(['serve', '--examples', '--host', '2001:db8::1', '--http-port', '0']).stderr).toMatch(
    /^PORT_UNAVAILABLE: .+ Choose an address of this machine: --host, or HOST\.\n$|^PORT_UNAVAILABLE: .+: --http-port 0, or PORT=0, picks a free one\.\n$/,
  )
})
