import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { root } from '../packages/project.suite.ts'
import { makeTemporaryDir, reapAtExit } from '../servers/reaper.mjs'
import { sharedPglite, sharedPostgres } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { ENV, FREE_PORTS } from './sluice-process.suite.ts'

const BODY = '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":"alice"}]}]}'
const REQUEST =
  'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n' +
  `Content-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, 10)}`

const groups: number[] = []

afterEach(() => {
  for (const group of groups.splice(0)) end(group)
})

/** Kills what remains of a process group. */
function end(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** An NpmRun is a service that npm runs in a process group, as a terminal has one. `output` ends with the last process. */
interface NpmRun {
  readonly npm: ChildProcess
  readonly group: number
  readonly url: URL
  readonly output: Promise<string>
}

/** Runs a script of package.json through npm and a shell, and waits until its service listens. */
async function npmRun(script: string, env: Record<string, string> = {}): Promise<NpmRun> {
  const npm = spawn('npm', ['run', script, '--', ...FREE_PORTS], {
    cwd: root,
    env: { ...ENV, LOG_FORMAT: 'text', ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  reapAtExit(npm)
  const group = npm.pid as number
  groups.push(group)
  let all = ''
  npm.stdout?.on('data', (chunk) => {
    all += chunk
  })
  const output = once(npm.stdout as NonNullable<typeof npm.stdout>, 'close').then(() => all)
  await until('the service listens', () => all.includes('Ctrl-C stops it'))
  const [, url = ''] = /HTTP {3}(http:\S+)/.exec(all) ?? []
  return { npm, group, url: new URL(url), output }
}

/** Where customers are kept by default: in a process of the same group, which hears signals too. */
async function onPglite(): Promise<Record<string, string>> {
  const data = makeTemporaryDir('npm-start')
  cpSync((await sharedPglite()).dir, data, { recursive: true })
  return { SLUICE_DATA: data }
}

/** Needs no such process, and starts with half of the work. */
async function onPostgres(): Promise<Record<string, string>> {
  const server = await sharedPostgres()
  return { DATABASE_URL: server.url(await server.createDatabase()), SLUICE_DATA: makeTemporaryDir('npm-start') }
}

/** Opens a connection and sends the first part of a request, which the service is reading then. */
async function halfSent({ port }: URL): Promise<Socket> {
  const socket = connect(Number(port), 'localhost')
  await once(socket, 'connect')
  socket.write(REQUEST)
  await once(socket, 'readable')
  expect(String(socket.read())).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  return socket
}

const isRefused = (port: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(port), 'localhost')
    socket.once('connect', () => resolve(false)).once('connect', () => socket.destroy())
    socket.once('error', () => resolve(true))
  })

const ENDINGS: [name: string, end: (run: NpmRun) => void][] = [
  ['SIGTERM to npm', ({ npm }) => npm.kill('SIGTERM')],
  ['SIGKILL to npm', ({ npm }) => npm.kill('SIGKILL')],
  ['SIGINT to all, as Ctrl-C sends it', ({ group }) => process.kill(-group, 'SIGINT')],
  ['SIGTERM to all, as a supervisor sends it', ({ group }) => process.kill(-group, 'SIGTERM')],
  ['SIGHUP to all, as a terminal that closes sends it', ({ group }) => process.kill(-group, 'SIGHUP')],
]

/** Ends a run while it reads a request, and returns what it answers and prints after that. */
async function halfAnswered(run: NpmRun, endIt: (run: NpmRun) => void): Promise<{ answer: string; output: string }> {
  const socket = await halfSent(run.url)
  endIt(run)
  await until('it takes no new connections', () => isRefused(run.url.port))
  socket.write(BODY.slice(10))
  return { answer: await text(socket), output: await run.output }
}

describe('npm start', () => {
  // dash, which is sh on Debian, starts the program as its child, and bash becomes the program.
  it.each([
    ...ENDINGS.map(([name, endIt]) => [name, 'sh', endIt, onPglite] as const),
    ...ENDINGS.slice(0, 3).map(([name, endIt]) => [name, 'bash', endIt, onPostgres] as const),
  ])('drains and ends after %s, with %s as the shell of scripts', async (_, shell, endIt, database) => {
    const run = await npmRun('start', { npm_config_script_shell: shell, ...(await database()) })
    const { answer, output } = await halfAnswered(run, endIt)
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(output).toMatch(/ info {2}stopped\n$/)
    expect(output.match(/health says no/g)).toHaveLength(1)
    expect(output).not.toContain('stopping immediately')
  })

  it('ends immediately at the second Ctrl-C', async () => {
    const run = await npmRun('start', { npm_config_script_shell: 'sh', ...(await onPostgres()) })
    const socket = await halfSent(run.url)
    process.kill(-run.group, 'SIGINT')
    await until('it takes no new connections', () => isRefused(run.url.port))
    process.kill(-run.group, 'SIGINT')
    await once(
      socket.on('error', () => {}),
      'close',
    )
    expect(await run.output).toContain('SIGINT again: stopping immediately')
  })
})

describe('npm run dev', () => {
  it.each(ENDINGS.filter(([name]) => !name.startsWith('SIGTERM to all')))(
    'ends, and its service drains, after %s',
    async (_, endIt) => {
      const { answer, output } = await halfAnswered(await npmRun('dev'), endIt)
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
      expect(output).toMatch(/ info {2}stopped\n$/)
    },
  )
})
