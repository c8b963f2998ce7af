import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { makeTemporaryDir, reapAtExit } from '../servers/reaper.mjs'
import type { Installation, Variables } from './black-box.suite.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const NOBODY = 65534
const execute = promisify(execFile)

/** Root on Linux can make the tree the whole world of a program; others start it from where it lies. */
export const canConfine = process.platform === 'linux' && process.getuid?.() === 0

/** An ImageTree is what `deploy/image/rootfs.sh` makes, with a Node.js where the base image has it. */
export interface ImageTree extends Installation {
  readonly dir: string
  /** Copies a folder into the tree, for the user that the service runs as, and returns where the program sees it. */
  put(from: string, name: string): string
}

/** Builds the tree. */
export async function buildImageTree(): Promise<ImageTree> {
  const dir = join(makeTemporaryDir('image'), 'rootfs')
  await execute(join(ROOT, 'deploy/image/rootfs.sh'), [dir], { timeout: 300_000 })
  if (canConfine) addBase(dir)
  let count = 0
  let rules: RuleDirectory | undefined
  return {
    dir,
    serve: (variables) => started(dir, 'ratelimit', [], variables),
    run: (args, variables) => resultOf(started(dir, 'sluice', args, variables)),
    mountRules(version, text) {
      if (version === '1' || rules === undefined) {
        count++
        rules = rulesIn(join(dir, `data-${count}`))
      }
      rules.mount(version, { 'api.yaml': text })
      return canConfine ? `/data-${count}` : join(dir, `data-${count}`)
    },
    put(from, name) {
      cpSync(from, join(dir, name), { recursive: true })
      if (canConfine) give(join(dir, name))
      return canConfine ? `/${name}` : join(dir, name)
    },
  }
}

/** A directory of rules where RUNTIME_ROOT and RUNTIME_SUBDIRECTORY=ratelimit lead to. */
export function rulesIn(root: string): RuleDirectory {
  const path = join(root, 'ratelimit', 'config')
  mkdirSync(path, { recursive: true })
  return Object.assign(Object.create(RuleDirectory.prototype), { path }) as RuleDirectory
}

/** Runs a program of the tree as nobody, who may write nothing in it, with these variables alone. */
function started(dir: string, program: string, args: readonly string[], env: Variables): ChildProcess {
  const [command, ...all] = canConfine
    ? ['/usr/sbin/chroot', `--userspec=${NOBODY}:${NOBODY}`, dir, `/bin/${program}`, ...args]
    : [process.execPath, join(dir, 'bin', program), ...args]
  const child = spawn(command, all, { cwd: dir, env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  reapAtExit(child)
  return child
}

/** Waits for the end of a program. */
export async function resultOf(child: ChildProcess): Promise<{ code: number; stdout: string; stderr: string }> {
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk) => {
      printed[name] += chunk
    })
  }
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)))
  return { code, ...printed }
}

/** Adds what the base image and every container have: Node.js, its libraries, and a little of /dev and /proc. */
function addBase(dir: string): void {
  const node = join(dir, 'nodejs/bin/node')
  mkdirSync(dirname(node), { recursive: true })
  try {
    linkSync(process.execPath, node)
  } catch {
    copyFileSync(process.execPath, node)
  }
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
  for (const library of libraries) {
    mkdirSync(dirname(dir + library), { recursive: true })
    copyFileSync(library, dir + library)
  }
  mkdirSync(join(dir, 'dev'))
  writeFileSync(join(dir, 'dev/null'), '')
  chmodSync(join(dir, 'dev/null'), 0o666)
  // Node.js reads there how much memory a process has.
  mkdirSync(join(dir, 'proc/self'), { recursive: true })
  writeFileSync(join(dir, 'proc/self/stat'), readFileSync('/proc/self/stat'))
}

function give(path: string): void {
  chownSync(path, NOBODY, NOBODY)
  for (const each of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
    chownSync(join(path, each), NOBODY, NOBODY)
  }
}
