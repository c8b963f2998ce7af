import { spawn } from 'node:child_process'
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { root } from './setup.mjs'

/** Never copied: installed packages are linked, and build output is built again. */
const leftOut = new Set(['node_modules', 'dist', 'coverage', '.git'])

/**
 * A copy of the repository, in a temporary folder, to change and to run at will. Installed packages are links, but the
 * notes of the build are its own: nothing that happens in it changes the repository.
 */
export class SourceCopy {
  /** Where it is, without a link on the way: so do programs name it that run there. */
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-copy-')))
  #child

  constructor(from = root) {
    cpSync(from, this.dir, { recursive: true, filter: (path) => path === from || !leftOut.has(basename(path)) })
    linkPackages(join(from, 'node_modules'), join(this.dir, 'node_modules'))
  }

  /**
   * Runs a script there, and returns how it ended and what it printed. One that takes too long is killed, with all that
   * it has started.
   */
  node(args, timeoutMs) {
    const child = spawn(process.execPath, args, { cwd: this.dir, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
    }
    return new Promise((resolve, reject) => {
      let isLate = false
      const deadline = setTimeout(() => {
        isLate = true
        this.#kill()
      }, timeoutMs)
      child.once('error', reject)
      child.once('exit', (code) => {
        clearTimeout(deadline)
        this.#child = undefined
        resolve({ code, isLate, text })
      })
    })
  }

  /** Ends what runs there, and leaves no trace. */
  remove() {
    this.#kill()
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }

  #kill() {
    if (this.#child?.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL')
  }
}

/** Links installed packages, one by one. A link to a workspace leads to the workspace next to the new link. */
function linkPackages(from, to) {
  mkdirSync(to)
  for (const name of readdirSync(from)) {
    const source = join(from, name)
    if (name.startsWith('@')) linkPackages(source, join(to, name))
    else if (lstatSync(source).isSymbolicLink()) cpSync(source, join(to, name), { verbatimSymlinks: true })
    else if (!isNotes(name)) symlinkSync(source, join(to, name))
  }
}

/** Notes of tools (.cache, .vite) belong to one tree. What npm installed does not. */
const isNotes = (name) => name.startsWith('.') && name !== '.bin' && name !== '.package-lock.json'
