import { createServer } from 'node:net'
import { SluiceError } from 'sluice/internal/core/errors'
import { describe, expect, it, onTestFinished } from 'vitest'
import { GATEWAY_SETTINGS } from '../settings/gateway-settings.ts'
import { listen } from './listen.ts'
import { orUnavailable, type PortName } from './port-unavailable.ts'

const NAMES: readonly PortName[] = ['http', 'grpc', 'gateway', 'admin', 'metrics']
const PLACE = { host: '192.0.2.1', port: 80 }

function fault(code: string, syscall?: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${syscall} ${code}: nothing to see`), { code, ...(syscall && { syscall }) })
}

const about = (name: PortName, code: string, place: typeof PLACE | { path: string } = PLACE): Promise<unknown> =>
  orUnavailable(name, place, Promise.reject(fault(code, 'listen')))

describe('a port that cannot be opened', () => {
  it.each([
    [
      'EADDRINUSE',
      'port 80 is in use (EADDRINUSE). Stop the other process, or choose a port: --admin-port 0, or ADMIN_PORT=0, picks a free one.',
    ],
    [
      'EACCES',
      'this user may not listen on port 80 (EACCES). Grant CAP_NET_BIND_SERVICE, or choose a port: --admin-port 0, or ADMIN_PORT=0, picks a free one.',
    ],
    [
      'EADDRNOTAVAIL',
      'this machine does not have the address 192.0.2.1 (EADDRNOTAVAIL). Choose an address of this machine: --admin-host, or ADMIN_HOST.',
    ],
    [
      'ENOTFOUND',
      'there is no host of the name 192.0.2.1 (ENOTFOUND). Choose an address of this machine: --admin-host, or ADMIN_HOST.',
    ],
    [
      'EIO',
      'port 80 of 192.0.2.1 cannot be opened: listen EIO: nothing to see. Correct this, or choose a port: --admin-port 0, or ADMIN_PORT=0, picks a free one.',
    ],
  ])('for %s says what to do', async (code, message) => {
    await expect(about('admin', code)).rejects.toThrow(
      new SluiceError('PORT_UNAVAILABLE', '192.0.2.1:80', ...halves(message)),
    )
  })

  it.each(NAMES)('has its own settings: %s', async (name) => {
    const messages = await Promise.all(NAMES.map((each) => about(each, 'EADDRINUSE').catch(({ message }) => message)))
    const own = messages[NAMES.indexOf(name)]
    expect(messages.filter((message) => message === own)).toHaveLength(1)
  })

  it('names the settings of the gateway as its command has them', async () => {
    const { flag, env } = GATEWAY_SETTINGS.find((spec) => spec.flag === 'port') ?? { flag: '', env: '' }
    await expect(about('gateway', 'EADDRINUSE')).rejects.toThrow(`--${flag} 0, or ${env}=0, picks`)
  })

  it.each([
    ['EADDRINUSE', 'the socket /run/a.sock is in use (EADDRINUSE). Stop the other process'],
    ['ENOENT', 'the socket /run/a.sock is in a folder that does not exist (ENOENT). Correct this'],
    ['EACCES', 'the socket /run/a.sock is in a folder that this user may not write to (EACCES). Correct this'],
  ])('for %s of a Unix socket names its path', async (code, start) => {
    await expect(about('grpc', code, { path: '/run/a.sock' })).rejects.toThrow(
      `PORT_UNAVAILABLE: ${start}, or choose another path: --grpc-socket, or GRPC_UDS.`,
    )
  })

  it('lets other errors on the way pass as they are', async () => {
    const error = fault('ENOENT', 'open')
    await expect(orUnavailable('gateway', PLACE, Promise.reject(error))).rejects.toBe(error)
    const plain = new Error('no system call')
    await expect(orUnavailable('gateway', PLACE, Promise.reject(plain))).rejects.toBe(plain)
  })

  it('is found for a folder that is not there', async () => {
    const server = createServer()
    onTestFinished(() => void server.close())
    const place = { path: '/nowhere/a.sock' }
    await expect(orUnavailable('grpc', place, listen(server, place))).rejects.toThrow(/^PORT_UNAVAILABLE: the socket /)
  })
})

function halves(message: string): [detail: string, advice: string] {
  const end = message.indexOf('). ') + 1 || message.indexOf('. Correct')
  return [message.slice(0, end), message.slice(end + 2)]
}
