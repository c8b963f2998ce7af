import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { root } from './setup.mjs'

/**
 * What a run may meet. `before` is a command that runs it; `env` is added to its environment; `isBusy` has a process
 * spin on every core meanwhile.
 */
export const CONDITIONS = {
  quiet: {},
  busy: { isBusy: true },
  'one-core': { before: ['taskset', '-c', '0'] },
  'slow-timers': { env: slowTimers },
}

function slowTimers(seed) {
  const preload = `--import ${new URL('./slow-timers.mjs', import.meta.url)}`
  return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${preload}`.trim(), SLOW_TIMERS_SEED: String(seed) }
}

/** The processor time of what a command has started and waited for comes from the shell that runs it. */
const TIMED = '"$@" 3>&-; code=$?; times >&3; exit $code'
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const reporter = fileURLToPath(new URL('./flakes-reporter.mjs', import.meta.url))

/** Reads what `times` prints: the second line is of the children, in the program and in the system. */
export function cpuSeconds(printed) {
  const parts = [...(printed.trim().split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  if (parts.length !== 2) return undefined
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0)
}

/** Returns what the reporter has written: what failed, which files were running, and the counts at the end. */
export function readReport(written) {
  const report = { failures: [], running: new Set(), counts: undefined }
  // What follows the last newline was not written to its end.
  for (const line of written.split('\n').slice(0, -1)) {
    const { started, done, failed, ended } = JSON.parse(line)
    if (started !== undefined) report.running.add(started)
    if (done !== undefined) report.running.delete(done)
    if (failed !== undefined) report.failures.push(failed)
    if (ended !== undefined) report.counts = ended
  }
  return report
}

/**
 * Returns the failures of a round. One that ends without its counts has died, and one whose exit code says that
 * something failed has failed, even where no test did.
 */
export function judgeRound({ failures, running, counts }, { code, signal }) {
  const how = signal === null ? `with code ${code}` : `by ${signal}`
  if (counts === undefined) {
    const meanwhile = running.size > 0 ? `; running were ${[...running].join(', ')}` : ''
    return [...failures, { test: 'the round itself', error: `it ended ${how} without a result${meanwhile}` }]
  }
  const isEmpty = counts.passed + counts.failed === 0
  if (isEmpty) return [...failures, { test: 'the round itself', error: 'no test ran' }]
  if (code !== 0 && failures.length === 0) return [{ test: 'the round itself', error: `it ended ${how}` }]
  return failures
}

/** One run of the tests in a condition. Its output is in a file. */
export class Round {
  #child
  #busy = []

  /** Resolves when it has ended, with all that it has started. */
  async run({ condition, seed, paths, dir, notesDir, name }) {
    const { before = [], env, isBusy } = CONDITIONS[condition]
    const report = join(notesDir, `${name}.jsonl`)
    const log = openSync(join(notesDir, `${name}.log`), 'w')
    rmSync(report, { force: true })
    if (isBusy) this.#busy = Array.from({ length: availableParallelism() }, spinning)
    const reporters = ['--reporter=default', `--reporter=${reporter}`]
    const command = [...before, process.execPath, vitest, 'run', ...reporters, ...paths]
    this.#child = spawn('/bin/sh', ['-c', TIMED, 'sh', ...command], {
      cwd: dir,
      env: { ...process.env, ...env?.(seed), FLAKES_REPORT: report },
      detached: true,
      stdio: ['ignore', log, log, 'pipe'],
    })
    closeSync(log)
    const ended = await this.#ended()
    return {
      ...readReport(existsSync(report) ? readFileSync(report, 'utf8') : ''),
      ...ended,
      log: join(notesDir, `${name}.log`),
    }
  }

  async #ended() {
    const startedAt = performance.now()
    const times = text(this.#child.stdio[3])
    const [code, signal] = await new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('exit', (...how) => resolve(how))
    })
    const seconds = (performance.now() - startedAt) / 1000
    // A service that a test has left behind would disturb the next round.
    this.stop()
    return { code, signal, seconds, cpu: cpuSeconds(await times) }
  }

  /** Ends it, and all that it has started. */
  stop() {
    for (const child of this.#busy.splice(0)) child.kill('SIGKILL')
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }
}

const spinning = () =>
  spawn(process.execPath, [fileURLToPath(new URL('./busy-core.mjs', import.meta.url))], {
    // Its end is seen when this process ends in any way.
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
