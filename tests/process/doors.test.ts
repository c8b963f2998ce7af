import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { type ChannelCredentials, credentials } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { run, start, startWith } from '../cli/sluice-process.suite.ts'
import { makeCertificates } from '../servers/certificates.mjs'
import { makeTemporaryDir } from '../servers/reaper.mjs'
import { startRedis } from '../servers/redis.mjs'
import { startSentinel } from '../servers/sentinel.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { grpcClient, rlsRequest, shouldRateLimit } from './grpc-load.suite.ts'

const { url: redis } = await sharedRedis()
const SETUPS: [name: string, args: string[]][] = [
  ['in one process', []],
  ['with two workers', ['--redis', redis, '--secret', 'a secret of this test', '--workers', '2']],
]

/** Makes a call over gRPC, and returns the overall code: 1 for admitted, 2 for refused. */
async function codeOf(target: string, channel?: ChannelCredentials, domain = 'api'): Promise<number> {
  const client = grpcClient(target, channel)
  try {
    return (await shouldRateLimit(client, rlsRequest(domain, 'carol')))[1]
  } finally {
    client.close()
  }
}

/**
 * Returns whether six connections that are open at the same time are admitted. Each goes to the worker with the fewest,
 * so that they reach all of two, even while some closed ones are still counted.
 */
async function areAllAdmitted(target: string, channel: ChannelCredentials): Promise<boolean> {
  const clients = Array.from({ length: 6 }, () => grpcClient(target, channel))
  try {
    const answers = await Promise.all(clients.map((client) => shouldRateLimit(client, rlsRequest('api', 'carol'))))
    return answers.every((answer) => answer[1] === 1)
  } finally {
    for (const client of clients) client.close()
  }
}

/** Makes an authority with a certificate for us and one for a client. */
async function certificates() {
  const dir = makeTemporaryDir('certificates')
  await makeCertificates(dir)
  const read = (name: string): Buffer => readFileSync(join(dir, name))
  return { at: (name: string) => join(dir, name), read }
}

describe.each(SETUPS)('gRPC, %s', (_, args) => {
  const rules = (): string => new RuleDirectory({ 'api.yaml': ruleText(1_000) }).path

  it('listens on a Unix socket', async () => {
    const path = join(makeTemporaryDir('socket'), 'grpc.sock')
    const { grpc, child } = await start(...args, '--rules', rules(), '--grpc-socket', path)
    expect(grpc).toBe(`unix:${path}`)
    expect(await codeOf(grpc)).toBe(1)
    // The file that a killed process leaves behind is in nobody's way.
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(existsSync(path)).toBe(true)
    await start(...args, '--rules', rules(), '--grpc-socket', path)
    expect(await codeOf(grpc)).toBe(1)
  })

  it('asks callers for a certificate that is made out to the right name', async () => {
    const { at, read } = await certificates()
    const files = [
      '--grpc-tls-cert',
      at('server.crt'),
      '--grpc-tls-key',
      at('server.key'),
      '--grpc-client-ca',
      at('ca.crt'),
    ]
    const tls = ['--grpc-tls', ...files, '--rules', rules()]
    const withCertificate = credentials.createSsl(read('ca.crt'), read('client.key'), read('client.crt'))

    const { grpc } = await start(...args, ...tls, '--grpc-client-san', 'localhost')
    expect(await codeOf(grpc, withCertificate)).toBe(1)
    await expect(codeOf(grpc, credentials.createSsl(read('ca.crt')))).rejects.toThrow(/^14 UNAVAILABLE/)
    await expect(codeOf(grpc)).rejects.toThrow(/^14 UNAVAILABLE/)

    const another = await start(...args, ...tls, '--grpc-client-san', 'another.example')
    await expect(codeOf(another.grpc, withCertificate)).rejects.toThrow(/^14 UNAVAILABLE/)
  })

  it('shows a changed certificate to new connections, and keeps the old one where the new one is wrong', async () => {
    const [old, next] = [await certificates(), await certificates()]
    const files = ['--grpc-tls-cert', old.at('server.crt'), '--grpc-tls-key', old.at('server.key')]
    const { grpc, printed } = await start(...args, '--grpc-tls', ...files, '--rules', rules())
    const [before, after] = [old, next].map(({ read }) => credentials.createSsl(read('ca.crt')))
    // The name of the file stays: it is the authority that tells which certificate was shown.
    copyFileSync(next.at('server.key'), old.at('server.key'))
    await printed('the key does not match')
    expect(await codeOf(grpc, before)).toBe(1)
    copyFileSync(next.at('server.crt'), old.at('server.crt'))
    await printed(' info  new connections see the certificate of')
    await until('every process shows it', () => areAllAdmitted(grpc, after))
    expect(await codeOf(grpc, after)).toBe(1)
    await expect(codeOf(grpc, before)).rejects.toThrow(/^14 UNAVAILABLE/)
  })
})

describe('sluice serve', () => {
  it('starts with the environment of envoyproxy/ratelimit, on a Redis with TLS and a password', async () => {
    const server = await startRedis({ tls: true, password: 'open:sesame' })
    let counted = ''
    const statsd = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (chunk) => {
        counted += chunk.toString()
      })
    })
    await once(statsd.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void statsd.close())
    const { certificateDir = '' } = server.address
    const rules = new RuleDirectory({ 'config/api.yaml': ruleText(1, 'shop') })
    const { grpc, welcome, printed } = await startWith({
      RUNTIME_ROOT: rules.path,
      RUNTIME_WATCH_ROOT: 'false',
      RUNTIME_IGNOREDOTFILES: 'true',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_TYPE: 'SINGLE',
      REDIS_URL: `localhost:${server.port}`,
      REDIS_AUTH: 'default:open:sesame',
      REDIS_TLS: 'true',
      REDIS_TLS_CACERT: join(certificateDir, 'ca.crt'),
      REDIS_TLS_CLIENT_CERT: join(certificateDir, 'client.crt'),
      REDIS_TLS_CLIENT_KEY: join(certificateDir, 'client.key'),
      SLUICE_REDIS_TIMEOUT: '60s',
      USE_STATSD: 'true',
      STATSD_HOST: '127.0.0.1',
      STATSD_PORT: String((statsd.address() as AddressInfo).port),
      STATS_FLUSH_INTERVAL: '1s',
    })
    expect(welcome).toContain(`1 limit in 1 domain, from ${join(rules.path, 'config')}\n`)
    await printed(' info  connected to redis')
    expect([await codeOf(grpc, undefined, 'shop'), await codeOf(grpc, undefined, 'shop')]).toEqual([1, 2])
    await until('StatsD has received counts', () => counted.includes('ratelimit.service.rate_limit.shop.'))
  })

  it('takes a certificate of Redis that is made out to another host when configured', async () => {
    const server = await startRedis({ tls: true })
    const { certificateDir = '' } = server.address
    const elsewhere = createServer((socket) => {
      const there = connect(server.port, '127.0.0.1')
      socket.pipe(there).pipe(socket)
      for (const each of [socket, there]) each.on('error', () => {})
    })
    await once(elsewhere.listen(0, '127.0.0.2'), 'listening')
    onTestFinished(() => void elsewhere.close())
    const env = {
      SLUICE_RULES: new RuleDirectory({ 'api.yaml': ruleText(1) }).path,
      REDIS_URL: `127.0.0.2:${(elsewhere.address() as AddressInfo).port}`,
      REDIS_TLS: 'true',
      REDIS_TLS_CACERT: join(certificateDir, 'ca.crt'),
      REDIS_TLS_CLIENT_CERT: join(certificateDir, 'client.crt'),
      REDIS_TLS_CLIENT_KEY: join(certificateDir, 'client.key'),
    }
    const careful = await startWith(env)
    await careful.printed("no connection to redis: Hostname/IP does not match certificate's altnames")
    const trusting = await startWith({ ...env, REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' })
    await trusting.printed(' info  connected to redis')
  })

  it('gets in where sentinels ask for a password', async () => {
    const system = await startSentinel({ replicas: 0, sentinels: 1 })
    const [sentinel] = system.sentinels
    await sentinel.call('ACL', 'SETUSER', 'default', 'resetpass', '>watch-word')
    const env = {
      SLUICE_RULES: new RuleDirectory({ 'api.yaml': ruleText(1) }).path,
      REDIS_TYPE: 'SENTINEL',
      REDIS_URL: `${system.name},127.0.0.1:${sentinel.port}`,
    }
    const stranger = await startWith(env)
    await stranger.printed('no connection to redis: no sentinel knows a master named')
    const friend = await startWith({ ...env, REDIS_SENTINEL_AUTH: 'watch-word' })
    await friend.printed(' info  connected to redis')
  })

  it('refuses nothing in shadow mode', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(1) })
    const { grpc } = await startWith({ SHADOW_MODE: 'true' }, '--rules', rules.path)
    expect([await codeOf(grpc), await codeOf(grpc)]).toEqual([1, 1])
  })

  it('takes its settings from a file', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(1) })
    const file = join(makeTemporaryDir('config'), 'sluice.yaml')
    writeFileSync(file, `rules:\n  - ${rules.path}\nlog_level: warn\nshadow_mode: true\n`)
    const { grpc, welcome, child, output } = await start('--config', file)
    expect(welcome).toContain(rules.path)
    expect([await codeOf(grpc), await codeOf(grpc)]).toEqual([1, 1])
    child.kill('SIGTERM')
    expect(await output).not.toContain('stopped')
  })

  it.each([[[]], [['--redis', 'redis://a', '--workers', '2']]])(
    'says so when certificate and key are swapped, with %j',
    async (args) => {
      const { at } = await certificates()
      const files = ['--grpc-tls', '--grpc-tls-cert', at('server.key'), '--grpc-tls-key', at('server.crt')]
      const { status, stderr } = run(['serve', '--examples', '--http-port', '0', ...files, ...args])
      expect([status, stderr]).toEqual([
        1,
        `TLS_FILE_INVALID: ${at('server.key')}: it is a private key, not a certificate. ` +
          'Certificates and private keys must be PEM files, and the key must match its certificate.\n',
      ])
    },
  )

  it.each([
    [['--redis', 'redis://a', '--redis-ca', 'none.pem'], 'none.pem'],
    [['--grpc-tls', '--grpc-tls-cert', 'none.crt', '--grpc-tls-key', 'none.key'], 'none.crt'],
    [['--redis', 'redis://a', '--redis-ca', 'none.pem', '--workers', '2'], 'none.pem'],
  ])('does not start without the files of %j', (args, file) => {
    expect(run(['serve', '--examples', '--http-port', '0', ...args], { env: { LOG_LEVEL: 'error' } })).toEqual({
      status: 1,
      stdout: '',
      stderr: `FILE_UNREADABLE: ${file}: the file does not exist (ENOENT). The file must exist, and the user of this process must be able to read it.\n`,
    })
  })
})
