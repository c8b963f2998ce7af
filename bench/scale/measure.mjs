import { execFile, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { reapAtExit } from '../../tests/servers/reaper.mjs'
import { count, median } from '../report.mjs'
import { measureRounds } from '../rounds.mjs'

/** A run that takes less than half a minute, is as good as its luck, and draws nothing. */
export const isQuick = process.argv.includes('--quick')

export const KINDS = ['exact', 'leased', 'eventual']
const worker = fileURLToPath(new URL('./worker.mjs', import.meta.url))
const execute = promisify(execFile)

/** Runs a task in a separate process. */
export async function measure(task) {
  const { stdout } = await execute(process.execPath, [worker, JSON.stringify(task)], { maxBuffer: 2 ** 28 })
  return JSON.parse(stdout)
}

/** Starts a process for a task that says when it is ready, and waits for that. */
export async function startWorker(task) {
  const child = fork(worker, [JSON.stringify(task)])
  reapAtExit(child)
  await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`a process of the benchmark ended with ${code}`)))
  })
  return child
}

const nameOf = ({ task, kind }) => `${task}, ${kind}`
export const measureAll = (tasks, rounds) => measureRounds(tasks, rounds, { measure, nameOf })

export const say = (...lines) => console.log(`${lines.join('\n')}\n`)
export const middle = (runs, field) => median(runs.map((run) => run[field]))
export const ms = (value) => `${value.toFixed(2)} ms`
export const us = (value) => `${value.toFixed(2)} µs`
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.001 ? 4 : 1)} %`
export const signed = (value) => `${value < 0 ? '−' : '+'}${count(Math.abs(value))}`

/** Adds up how many decisions failed, by the reason. */
export function failuresLine(what, reasons) {
  const total = {}
  for (const [reason, number] of reasons.flatMap(Object.entries)) total[reason] = (total[reason] ?? 0) + number
  const kinds = Object.entries(total).map(([reason, number]) => `${count(number)} ${reason}`)
  return `decisions that failed, ${what}: ${kinds.join('; ') || 'none'}`
}
