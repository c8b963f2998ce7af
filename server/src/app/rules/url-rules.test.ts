import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ruleText } from '../../../../src/sources/rule-directory.suite.ts'
import { makeCertificates } from '../../../../tests/servers/certificates.mjs'
import { makeTemporaryDir } from '../../../../tests/servers/reaper.mjs'
import { type RulesServer, startRulesServer, status, text } from '../../sources/url/rules-server.suite.ts'
import { logTo } from '../log/log.ts'
import { readConfig } from '../settings/config.ts'
import { parseFlags } from '../settings/flags.ts'
import { type Service, startService } from '../wire.ts'
import { readRules } from './read-rules.ts'

const PORTS = ['--host=127.0.0.1', '--http-port=0', '--grpc-port=0', '--admin-port=0']

/** Starts a service on free ports. It ends with the test. */
async function serve(...args: string[]): Promise<{ readonly service: Service; readonly logged: string[] }> {
  const logged: string[] = []
  const log = logTo(({ event, message }) => logged.push(`${event} ${message}`))
  const service = await startService(readConfig([...PORTS, ...args], {}), log)
  onTestFinished(() => service.close())
  return { service, logged }
}

const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing',
    (error: Error) => error.message,
  )

/** A server that speaks TLS 1.3, asks for a certificate and for a token. */
async function secured(): Promise<{
  readonly server: RulesServer
  readonly flags: string[]
  readonly tokenFile: string
}> {
  const dir = makeTemporaryDir('rules-tls')
  await makeCertificates(dir)
  const [ca, cert, key] = ['ca.crt', 'server.crt', 'server.key'].map((file) => readFileSync(join(dir, file)))
  const answer = text(ruleText(5, 'secured'))
  const server = await startRulesServer(
    (request, response) =>
      request.headers.authorization === 'Bearer right' ? answer(request, response) : status(401)(request, response),
    { ca, cert, key, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' },
  )
  const tokenFile = join(dir, 'token')
  writeFileSync(tokenFile, 'right\n')
  const flags = [
    ...['--rules', server.url.href, '--rules-token-file', tokenFile, '--rules-ca', join(dir, 'ca.crt')],
    ...['--rules-cert', join(dir, 'client.crt'), '--rules-key', join(dir, 'client.key')],
  ]
  return { server, flags, tokenFile }
}

describe('a service with rules at an address', () => {
  it('goes by them, and by others after a reload', async () => {
    const server = await startRulesServer(text(ruleText(5, 'a')))
    const { service, logged } = await serve('--rules', server.url.href)
    expect([...service.rules().domains.keys()]).toEqual(['a'])
    server.answer(text(ruleText(5, 'b')))
    await service.reload()
    expect([...service.rules().domains.keys()]).toEqual(['b'])
    expect(logged).toContain('rules.loaded rules are in force: 1 limit in 1 domain')
    server.answer(status(502))
    await service.reload()
    expect([...service.rules().domains.keys()]).toEqual(['b'])
    expect(logged).toContain(`rules.away no rules from ${server.url}: answered 502; the last good ones stay in force`)
    const metrics = await (await fetch(`http://${service.addresses.admin}/metrics`)).text()
    expect(metrics).toContain(`ratelimit_rules_source_failures_total{source="${server.url}"} 1`)
  })

  it('shows its certificate and the token of a file, which is read each time', async () => {
    const { flags, server, tokenFile } = await secured()
    const { service, logged } = await serve(...flags)
    expect([...service.rules().domains.keys()]).toEqual(['secured'])
    writeFileSync(tokenFile, 'wrong\n')
    await service.reload()
    expect(logged.at(-2)).toBe(`rules.away no rules from ${server.url}: answered 401; the last good ones stay in force`)
    writeFileSync(tokenFile, 'right\n')
    await service.reload()
    expect(logged.slice(-2)).toEqual([
      `rules.back ${server.url} can be read again`,
      'rules.read rules were read again: nothing changed',
    ])
  })

  it('does not start where a server is not whom its certificate names, or wants one that there is not', async () => {
    const { flags, server } = await secured()
    const withoutCa = flags.filter((_, i) => i < 4)
    expect(await messageOf(serve(...withoutCa))).toMatch(/^RULES_AWAY: https.*UNABLE_TO|SELF_SIGNED/)
    expect(await messageOf(serve(...flags.slice(0, 6)))).toMatch(/^RULES_AWAY: /)
    expect(server.requests).toEqual([])
  })

  it('does not start without them, unless --start-without-rules is set', async () => {
    expect(await messageOf(serve('--rules', 'http://127.0.0.1:1/r?sig=hidden'))).toMatch(
      /^RULES_AWAY: http:\/\/127\.0\.0\.1:1\/r\?…: ECONNREFUSED\. /,
    )
    const { service, logged } = await serve('--rules', 'http://127.0.0.1:1/r', '--start-without-rules')
    expect(service.rules().ruleCount).toBe(0)
    expect(logged.some((line) => line.startsWith('rules.none_yet there are no rules of http://127.0.0.1:1/r'))).toBe(
      true,
    )
  })
})

describe('readRules', () => {
  const flags = parseFlags('check', [], [])

  it('reads files and addresses as one', async () => {
    const dir = makeTemporaryDir('read-rules')
    writeFileSync(join(dir, 'a.yaml'), ruleText(5, 'a'))
    const server = await startRulesServer(text(ruleText(5, 'b')))
    expect(await readRules([dir, server.url.href], flags)).toEqual([
      { file: join(dir, 'a.yaml'), text: ruleText(5, 'a') },
      { file: server.url.href, text: ruleText(5, 'b') },
    ])
  })

  it('names every address that cannot be read', async () => {
    const server = await startRulesServer(status(404))
    const places = [`${server.url}?sig=hidden`, 'http://127.0.0.1:1/r']
    expect(await messageOf(readRules(places, flags))).toMatch(
      /^RULES_AWAY: .*\/rules\.yaml\?…: answered 404\. [^\n]*\nRULES_AWAY: http:\/\/127\.0\.0\.1:1\/r: ECONNREFUSED\. [^\n]*$/,
    )
  })
})
