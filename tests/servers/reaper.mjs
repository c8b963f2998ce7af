// @ts-check
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// A shell that reads which processes run, until the pipe from this process closes. It closes however this process ends,
// by SIGKILL too; then the shell kills what is left and removes the temporary folder.
const script = `
trap '' INT TERM HUP
pids=' '
while read -r word pid; do
  case $word in
    started) pids="$pids$pid " ;;
    ended) pids="\${pids%% $pid *} \${pids#* $pid }" ;;
  esac
done
[ "$pids" = ' ' ] || kill -9 $pids
rm -rf "$1"
`

/** @type {{ dir: string, tell: (line: string) => void } | undefined} */
let reaper

function theReaper() {
  if (reaper !== undefined) return reaper
  const dir = mkdtempSync(join(tmpdir(), 'sluice-servers-'))
  const shell = spawn('/bin/sh', ['-c', script, 'reaper', dir], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  shell.unref()
  // A child's pipe is a socket, which its type does not tell.
  const { stdin } = shell
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  reaper = { dir, tell: (line) => void stdin.write(`${line}\n`) }
  return reaper
}

let count = 0

/**
 * Makes a folder that is gone soon after this process has ended.
 * @param {string} name
 * @returns {string}
 */
export function makeTemporaryDir(name) {
  count += 1
  const dir = join(theReaper().dir, `${name}-${count}`)
  mkdirSync(dir)
  return dir
}

/**
 * Has a child killed if it outlives this process.
 * @param {import('node:child_process').ChildProcess} child
 */
export function reapAtExit(child) {
  const { pid } = child
  if (pid === undefined) return
  const { tell } = theReaper()
  tell(`started ${pid}`)
  child.once('exit', () => tell(`ended ${pid}`))
}
