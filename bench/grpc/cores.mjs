import { execFileSync } from 'node:child_process'
import { findCommand } from '../../scripts/system-packages.mjs'

const taskset = findCommand('taskset')

/** Returns the cores that this process may use, or none if that is unknown. */
function allowedCores() {
  if (taskset === undefined) return []
  const [, list] = execFileSync(taskset, ['-cp', `${process.pid}`], { encoding: 'utf8' }).split(': ')
  return list
    .trim()
    .split(',')
    .flatMap((range) => {
      const [from, to = from] = range.split('-').map(Number)
      return Array.from({ length: to - from + 1 }, (_, i) => from + i)
    })
}

const [serverCore, clientCore] = allowedCores()

/** Whether servers and clients have a core each; without that, "one core" is a hope. */
export const arePinned = clientCore !== undefined

/** pinServer and pinClient move a process with all its threads to the core of its kind. */
export const pinServer = (pid) => pin(pid, serverCore)
export const pinClient = (pid) => pin(pid, clientCore)

function pin(pid, core) {
  if (arePinned) execFileSync(taskset, ['-acp', `${core}`, `${pid}`])
}
