import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createFetch } from '../../client/src/index.ts'
import { reapAtExit } from '../servers/reaper.mjs'
import { callOf, PER_SECOND, SLOW_PER_SECOND, startApi } from './service.suite.ts'

// A real service, real sockets, real time. What depends on how busy the machine is (seconds, refusals to the last one) is exact
// in pacing.test.ts and measured by `npm run bench -- client`.

const CALLS = 10 * PER_SECOND
const SCRIPT = fileURLToPath(new URL('./paced-process.mjs', import.meta.url))

/** A counting fetch keeps how many of its requests were refused. */
function counting() {
  const counts = { asked: 0, refused: 0 }
  const ask = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    counts.asked++
    const response = await fetch(...request)
    if (response.status === 429) counts.refused++
    return response
  }
  return { counts, ask }
}

it('ten seconds of work in one burst are answered, and hardly a request is refused', async () => {
  const url = `${await startApi()}/v1/check`
  const ours = counting()
  const paced = createFetch({ retryMethods: ['POST'], fetch: ours.ask })
  const answers = await Promise.all(Array.from({ length: CALLS }, () => paced(url, callOf('alice'))))
  expect(answers.filter(({ status }) => status !== 200)).toEqual([])
  expect(paced.counts()).toMatchObject({ waiting: 0, gaveUp: 0 })
  expect(ours.counts.refused).toBeLessThan(CALLS / 10)
})

/** A PacedProcess calls as one caller, with a share of the work. */
class PacedProcess {
  answered = 0
  refused = 0
  readonly ready: Promise<void>
  readonly over: Promise<void>
  readonly #child: ChildProcess

  constructor(url: string, calls: number) {
    const child = spawn(process.execPath, [SCRIPT, url, String(callOf('carol', 'slow_caller').body), `${calls}`], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#child = child
    reapAtExit(child)
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => {
      if (line.startsWith('refused ')) this.refused = Number(line.slice('refused '.length))
      else if (line === '200') this.answered++
    })
    this.ready = once(lines, 'line').then(() => {})
    this.over = once(lines, 'close').then(() => {})
  }

  /** Has it make its calls. */
  begin(): void {
    this.#child.stdin?.write('go\n')
  }
}

it('two processes with one key share it: neither is starved', async () => {
  const url = `${await startApi()}/v1/check`
  const calls = 10 * SLOW_PER_SECOND
  const share = calls / 2
  const [one, two] = [new PacedProcess(url, share), new PacedProcess(url, share)]
  // On a busy machine one may start seconds before the other.
  await Promise.all([one.ready, two.ready])
  for (const each of [one, two]) each.begin()
  await Promise.race([one.over, two.over])
  // How even it is depends on how busy the machine is: one of two that share a core may have little more than half of the other's.
  expect(Math.min(one.answered, two.answered)).toBeGreaterThan(share / 3)
  await Promise.all([one.over, two.over])
  expect([one.answered, two.answered]).toEqual([share, share])
  expect(one.refused + two.refused).toBeLessThan(calls / 4)
})
