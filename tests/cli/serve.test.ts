import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { SETTINGS, type SettingSpec } from '../../server/src/app/settings/settings.ts'
import { ENV, run, start, startWith } from './sluice-process.suite.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}
const JSON_TYPE = 'Content-Type: application/json\r\n'
const BODY = '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":"carol"}]}]}'

const hasCurl = spawnSync('curl', ['--version']).status === 0

/** Runs a printed command in a shell. Where there is no curl, it asks what the command would ask. */
async function carryOut(command: string): Promise<string> {
  if (hasCurl) return (await promisify(execFile)('bash', ['-c', command], { env: ENV })).stdout
  const [, body, url] = /'(\{.*?\})' (http:\S+?)(?:;|$)/.exec(command) as RegExpExecArray
  let answers = ''
  for (let i = 0; i < (command.startsWith('for ') ? 6 : 1); i++) {
    const [, name, value] = /-H '(.*?): (.*?)'/.exec(command) as RegExpExecArray
    const response = await fetch(url, { method: 'POST', body, headers: { [name]: value } })
    const fields = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
    answers += `HTTP/1.1 ${response.status} \r\n${fields}\r\n${await response.text()}`
  }
  return answers
}

interface Answer {
  readonly status: number
  readonly fields: Record<string, string>
  readonly body: { allowed: boolean; reason?: string; verdicts: { remaining: number }[] }
}

/** Reads the answers that `curl -i` printed one after the other. */
function answersIn(printed: string): Answer[] {
  return printed.split(/^(?=HTTP\/1\.1 )/m).map((answer) => {
    const [head, body] = answer.split('\r\n\r\n')
    const [statusLine, ...lines] = head.split('\r\n')
    const fields = lines.map((line) => [line.split(': ', 1)[0].toLowerCase(), line.slice(line.indexOf(': ') + 2)])
    return { status: Number(statusLine.split(' ')[1]), fields: Object.fromEntries(fields), body: JSON.parse(body) }
  })
}

describe('sluice serve', () => {
  it('prints where it is and commands that work as they stand', async () => {
    const { welcome, url, grpc, admin } = await start()
    // The examples are to be tried out: no other machine reaches them.
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
    expect(grpc).toMatch(/^127\.0\.0\.1:[1-9]\d*$/)
    expect(welcome.split('\n').slice(0, 8)).toEqual([
      `sluice ${version} is listening`,
      expect.stringMatching(`^  gRPC   ${grpc} +Envoy's rate limit service, health, `),
      expect.stringMatching(`^  HTTP   ${url} +/v1/check, `),
      expect.stringMatching(`^  admin  ${admin} +/metrics, /stats, /rlconfig, /admin/v1$`),
      '',
      `dashboard  ${admin}/  this machine may look without a token`,
      expect.stringMatching(/^counters in memory; \d+ limits in 5 domains, from the examples \(server\/examples\)$/),
      '',
    ])
    const commands = welcome.match(/^ {5}(?:curl|for) .*$/gm)?.map((line) => line.trim()) ?? []
    expect(commands).toHaveLength(5)

    const [first] = answersIn(await carryOut(commands[0]))
    expect([first.status, first.body.allowed, first.body.verdicts[0].remaining]).toEqual([200, true, 4])
    expect(first.fields['ratelimit-policy']).toBe('"per-user";q=5;w=60')
    expect(first.fields.ratelimit).toMatch(/^"per-user";r=4;t=\d+$/)
    expect(first.fields['x-ratelimit-limit']).toBe('5')

    const six = answersIn(await carryOut(commands[1]))
    expect(six.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429])
    const refused = six[5]
    expect(Number(refused.fields['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(refused.fields.ratelimit).toBe(`"per-user";r=0;t=${refused.fields['retry-after']}`)
    expect(refused.body.reason).toMatch(/^rule "per-user" has 0 of 5 left; admitted again in \d+ ms$/)

    const [look] = answersIn(await carryOut(commands[2]))
    expect([look.status, look.body.verdicts[0].remaining]).toEqual([429, 0])

    expect(commands[3]).toContain(`${url}/json`)
    expect(await carryOut(commands[3])).toContain('"overallCode":"OVER_LIMIT"')
    expect(commands[4]).toBe(`curl ${admin}/stats`)
    expect(await (await fetch(`${admin}/stats`)).text()).toContain('rate_limit.api.user.over_limit: 3\n')
  })

  it('prints commands that send the token, and not the token itself', async () => {
    const { welcome, url } = await startWith({ SLUICE_TOKEN: 'a-token-of-many-characters' })
    expect(welcome).not.toContain('a-token-of-many-characters')
    const [command] = welcome.match(/curl -i .*$/m) ?? []
    expect(command).toContain(` -H "Authorization: Bearer $SLUICE_TOKEN" -d '{"domain":`)
    expect(command).toContain(`${url}/v1/check`)
  })

  it.each([['127.0.0.1'], ['localhost']])('prints an address that works when it listens on %s', async (host) => {
    const { url } = await start('--host', host)
    expect(url).toMatch(new RegExp(`^http://${host}:`))
    expect(await (await fetch(`${url}/healthcheck`)).text()).toBe('OK')
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('stops on %s, with exit code 0', async (signal) => {
    const { child, url, output } = await start()
    // A connection that a gateway would keep for the next request.
    expect((await fetch(`${url}/healthcheck`)).status).toBe(200)
    const exited = once(child, 'exit')
    child.kill(signal)
    expect(await exited).toEqual([0, null])
    expect(await output).toMatch(/ info {2}stopped\n$/)
  })

  it('answers requests in flight before it stops', async () => {
    const { child, url, output } = await start()
    const port = Number(new URL(url).port)
    const idle = await connected(port)
    const socket = await connected(port)
    const head = `POST /v1/check HTTP/1.1\r\nHost: a\r\n${JSON_TYPE}Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`
    socket.write(head + BODY.slice(0, 10))
    await once(socket, 'readable')
    expect(String(socket.read())).toBe('HTTP/1.1 100 Continue\r\n\r\n')

    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    while (await isListening(port)) {}
    socket.write(BODY.slice(10))
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(answer).toContain('\r\nConnection: close\r\n')
    expect(answer).toContain('{"allowed":true,"rule":"per-user",')
    expect(await exited).toEqual([0, null])
    expect(await output).toMatch(/ info {2}stopped\n$/)
    idle.destroy()
  })

  it.each([
    [
      ['serve', '--port', '1'],
      'FLAG_UNKNOWN: serve: got "--port", did you mean "--http-port"? Run the command with --help to list its flags.',
    ],
    [['serve', '--rules'], 'FLAG_VALUE_MISSING: --rules: no value. Give the value as --flag VALUE or --flag=VALUE.'],
    [
      ['serve'],
      'RULES_MISSING: serve: no rules are given. Set --rules, --rules-xds, SLUICE_RULES or, as in ' +
        'envoyproxy/ratelimit, RUNTIME_ROOT; or start with --examples for the example rules.',
    ],
    [
      ['serve', '--merge-domains=maybe'],
      'SWITCH_INVALID: --merge-domains: got "maybe". A switch must be true or false.',
    ],
    [
      ['serve', '--rules', 'none.yaml'],
      'RULE_FILE_UNREADABLE: none.yaml: the file does not exist (ENOENT). ' +
        'Rules must be a readable file, or a directory of .yaml and .yml files.',
    ],
    [['serve', 'now'], 'FLAG_UNKNOWN: serve: got "now". Run the command with --help to list its flags.'],
    [
      ['serve', '--http-port', 'http'],
      'PORT_INVALID: --http-port: got "http". A port must be a whole number from 0 to 65535; 0 picks a free one.',
    ],
    [
      ['serve', '--http-port'],
      'FLAG_VALUE_MISSING: --http-port: no value. Give the value as --flag VALUE or --flag=VALUE.',
    ],
    [
      ['server'],
      'COMMAND_UNKNOWN: sluice: no command "server", did you mean "serve"? Run sluice --help to list the commands.',
    ],
    [
      ['serv'],
      'COMMAND_UNKNOWN: sluice: no command "serv", did you mean "serve"? Run sluice --help to list the commands.',
    ],
    [['fly'], 'COMMAND_UNKNOWN: sluice: no command "fly". Run sluice --help to list the commands.'],
  ])('answers %j with one line and exit code 1', (args, line) => {
    expect(run(args)).toEqual({ status: 1, stdout: '', stderr: `${line}\n` })
  })

  it('names the environment variable that is wrong', () => {
    expect(run(['serve'], { env: { PORT: 'tcp://10.0.0.1:80' } }).stderr).toBe(
      'PORT_INVALID: PORT: got "tcp://10.0.0.1:80". A port must be a whole number from 0 to 65535; 0 picks a free one.\n',
    )
  })
})

describe('sluice', () => {
  it.each([[[]], [['--help']], [['-h']], [['help']], [['check', '--help']]])('prints its help for %j', (args) => {
    const { status, stdout, stderr } = run(args)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^sluice: a distributed API rate limiter\n\nUsage:\n {2}sluice serve \[FLAGS\] /)
    expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
  })

  it.each(['--help', '-h'])('prints every setting of serve for serve %s, within 80 columns', (flag) => {
    const { status, stdout, stderr } = run(['serve', flag])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const { flag, env, default: usual, unset } of SETTINGS as readonly SettingSpec[]) {
      expect(stdout).toMatch(new RegExp(`^  --${flag}\\b`, 'm'))
      expect(stdout.replace(/\n +/g, ' ')).toContain(`[${env}; default: ${usual ?? unset}]`)
    }
    expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
  })

  it.each(['--version', '-v'])('prints its version for %s', (flag) => {
    expect(run([flag])).toEqual({ status: 0, stdout: `sluice ${version}\n`, stderr: '' })
  })
})

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, 'localhost')
  await once(socket, 'connect')
  return socket
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, 'localhost')
    socket.once('connect', () => socket.destroy())
    socket.once('error', () => resolve(false))
    socket.once('close', (failed) => resolve(!failed))
  })
}
