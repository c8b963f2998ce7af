import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { LAST_LINES } from '../../server/src/cli/greeting.ts'
import { reapAtExit } from '../servers/reaper.mjs'
import { until } from '../servers/until.mjs'

const MAIN = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))

/** ENV is this environment without what would change the service, or send a request for it elsewhere. */
export const ENV = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(HOST|PORT|LOG_.*|SLUICE_.*|.*_PROXY|.*_URL|.*_PORT|.*_HOST)$/i.test(name),
  ),
)

/** Carries out a command line to its end. */
export function run(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string; input?: string } = {},
) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    ...options,
    env: { ...ENV, ...options.env },
    encoding: 'utf8',
    // Nothing else could end one that never ends: this process waits for it and does nothing meanwhile.
    timeout: 180_000,
    killSignal: 'SIGKILL',
  })
  return { status, stdout, stderr }
}

/** Ends a process, and resolves when it has ended. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** A Started is a running `sluice serve`. It ends with the test. */
export interface Started {
  readonly child: ChildProcess
  readonly url: string
  /** Where gRPC listens, as `localhost:8081`. */
  readonly grpc: string
  /** The admin port's address, as `http://127.0.0.1:8082`. */
  readonly admin: string
  /** What it printed until it was ready. */
  readonly welcome: string
  /** What it prints in all; known when it has ended. */
  readonly output: Promise<string>
  /** What it has written to standard error. */
  errors(): string
  /** Waits until it has printed so many lines that contain a text, and returns all it has printed. */
  printed(text: string, times?: number): Promise<string>
}

const GREETED = [...Object.values(LAST_LINES), '"service.started"']
/** A service that prints something else than a test waits for is seen long before the test is ended. */
const PRINT_WITHIN_MS = 180_000

/**
 * Runs `sluice serve` on free ports, with a log that people can read, and waits for the end of its welcome. Without
 * rules of its own it has the examples.
 */
export function start(...args: string[]): Promise<Started> {
  return startWith({}, ...args)
}

/**
 * Waits until every worker of services that were started with --health-needs-redis has Redis: before, it counts by
 * itself.
 */
export async function connected(...services: readonly Started[]): Promise<void> {
  for (const { admin } of services) {
    await until('every worker has Redis', async () => (await fetch(`${admin}/readyz`)).status === 200)
  }
}

/** Resolves with the first token of the admin API, which a service has written to a file. */
export async function firstTokenOf({ printed }: Pick<Started, 'printed'>): Promise<string> {
  const [, file = ''] = /the first token, for an admin, is in (.+): log in/.exec(await printed('the first token')) ?? []
  return readFileSync(file, 'utf8').trim()
}

export const FREE_PORTS = ['--http-port', '0', '--grpc-port', '0', '--admin-port', '0']

/** startWith is start in another environment. */
export function startWith(env: Record<string, string>, ...args: string[]): Promise<Started> {
  return launch((child) => onTestFinished(() => kill(child)), env, ...args)
}

/** launch is startWith for what outlives a test: `endLater` is given the process, to see to its end. */
export async function launch(
  endLater: (child: ChildProcess) => void,
  env: Record<string, string>,
  ...args: string[]
): Promise<Started> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--examples', ...FREE_PORTS, ...args], {
    env: { ...ENV, LOG_FORMAT: 'text', ...env },
  })
  endLater(child)
  reapAtExit(child)
  let all = ''
  let complaint = ''
  const waiting = new Set<() => void>()
  const check = (): void => {
    for (const each of waiting) each()
  }
  const waitFor = (texts: readonly string[], times = 1): Promise<string> =>
    new Promise((resolve, reject) => {
      const fail = (why: string): void =>
        reject(new Error(`${why} before "${texts.join('" or "')}": ${all}${complaint}`))
      const late = setTimeout(() => fail(`it has run for ${PRINT_WITHIN_MS} ms`), PRINT_WITHIN_MS)
      const look = (): void => {
        if (wholeLines(all).filter((line) => texts.some((text) => line.includes(text))).length >= times) resolve(all)
        else if (child.exitCode !== null || child.signalCode !== null) fail('it ended')
        else return
        clearTimeout(late)
        waiting.delete(look)
      }
      waiting.add(look)
      look()
    })
  child.stderr.on('data', (chunk) => {
    complaint += chunk
  })
  child.stdout.on('data', (chunk) => {
    all += chunk
    check()
  })
  child.once('exit', () => setImmediate(check))
  const output = new Promise<string>((resolve) => child.stdout.once('close', () => resolve(all)))
  const welcome = await waitFor(GREETED)
  const [, url = ''] = /HTTP {3}(http:\S+)/.exec(all) ?? []
  const [, admin = ''] = /admin {2}(http:\S+)/.exec(all) ?? []
  const [, grpc = ''] = /gRPC {3}(\S+)/.exec(all) ?? []
  const printed = (text: string, times?: number): Promise<string> => waitFor([text], times)
  return { child, url, grpc, admin, welcome, output, errors: () => complaint, printed }
}

/** Returns lines without the last one, which may not be printed to its end. */
const wholeLines = (text: string): string[] => text.split('\n').slice(0, -1)
