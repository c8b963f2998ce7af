import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'

// npm runs a script through a shell: npm, `sh -c "node scripts/start.mjs"`, node. npm forwards SIGTERM to the shell
// alone, and dash ends without passing it on. A SIGKILL of npm, and a terminal that closes, do not end the service
// below either.
const STOP_SIGNALS = ['SIGINT', 'SIGTERM']
const lookEveryMs = 300

/**
 * Sends this process SIGTERM when the npm that runs it has ended, however it ended. It does nothing in a process that
 * is not the script itself, such as one that the script started. Windows ends the processes of a console itself. It is
 * called before the process handles a signal, or it does not see that one.
 */
export async function endWithNpm() {
  if (process.platform === 'win32' || !isScript(process.env, process.argv[1])) return
  endWith(await ancestorsToWatch(process.ppid, process.env.npm_lifecycle_script))
}

/** Does the same in a process that a script started. */
export function endWithParent() {
  if (process.platform !== 'win32') endWith([process.ppid])
}

/** Returns whether a program is the program that npm was asked to run. */
export function isScript({ npm_lifecycle_script: script = '' }, program = '') {
  // As package.json names it: scripts/start.mjs.
  return program !== '' && script.includes(program.split('/').slice(-2).join('/'))
}

/**
 * Returns the process that runs a script and, if that is a shell, its parent, which is npm. Many shells become the
 * program that they run: then there is npm only. The parent of npm does not count, because `nohup npm start &` outlives
 * its terminal.
 */
export async function ancestorsToWatch(parent, script, lookAt = processOf) {
  const shell = await lookAt(parent)
  return shell?.command.includes(script) ? [parent, shell.parent] : [parent]
}

function endWith(watched) {
  const signals = watchSignals(watched.length === 1)
  const timer = setInterval(async () => {
    if (signals.count > 0) return clearInterval(timer)
    if (await areStillThere(watched)) return
    clearInterval(timer)
    // What ended the parent may have sent a signal to this process, too, which is read after timers. A second one would
    // end it before it has drained.
    await pause(lookEveryMs, undefined, { ref: false })
    await turn()
    if (signals.count === 0) process.kill(process.pid, 'SIGTERM')
  }, lookEveryMs).unref()
}

async function areStillThere([parent, grandparent]) {
  if (process.ppid !== parent) return false
  return grandparent === undefined || (await processOf(parent))?.parent === grandparent
}

/**
 * Counts the signals that this process handles. If its parent forwards signals, the second is dropped: Ctrl-C goes to
 * all processes of a terminal, and arrives from the parent again. A listener could not do this, because it would keep a
 * signal from ending a process that does not handle it yet.
 */
function watchSignals(parentForwards) {
  const signals = { count: 0 }
  const { emit } = process
  process.emit = (event, ...args) => {
    if (STOP_SIGNALS.includes(event)) {
      signals.count++
      if (parentForwards && signals.count === 2) return true
    }
    return emit.call(process, event, ...args)
  }
  return signals
}

/** Returns the parent and the command line of a process, or undefined where there is none or `ps` is missing. */
export async function processOf(pid) {
  try {
    return process.platform === 'linux' ? linuxProcess(pid) : await listedProcess(pid)
  } catch {
    return undefined
  }
}

function linuxProcess(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // After the name, which may contain anything: the state and the parent.
  const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { parent: Number(parent), command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }
}

/** Asks `ps`, which macOS has. */
export async function listedProcess(pid) {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'ppid=,args=', '-p', String(pid)])
  const [, parent, command] = /^\s*(\d+)\s+(.*)/.exec(stdout)
  return { parent: Number(parent), command }
}
