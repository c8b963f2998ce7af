import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sharedPackages } from '../servers/shared.ts'
import { cleanFolder } from './packed.ts'

const execute = promisify(execFile)
export const root = fileURLToPath(new URL('../../', import.meta.url))
const installed = join(root, 'node_modules')

/** How a program ended. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export type { Packed } from './packed.ts'

/** Returns the packages as they are published, packed once for the whole run. They are to be copied, not changed. */
export const pack = sharedPackages

/** A Project is an app of somebody's who has installed packages. */
export class Project {
  readonly folder = cleanFolder()

  constructor() {
    this.write({ 'package.json': '{ "type": "module" }' })
  }

  /** Copies an unpacked package into the project, and links what it depends on, as npm would install it. */
  install(packageFolder: string, { without = [] }: { without?: readonly string[] } = {}): this {
    const { name, dependencies = {} } = manifestOf(packageFolder)
    cpSync(packageFolder, join(this.folder, 'node_modules', name), { recursive: true })
    for (const each of Object.keys(dependencies)) if (!without.includes(each)) this.link(each)
    return this
  }

  /** Makes packages available that this repository has. */
  link(...names: readonly string[]): this {
    for (const name of names) {
      const path = join(this.folder, 'node_modules', name)
      if (existsSync(path)) continue
      mkdirSync(dirname(path), { recursive: true })
      symlinkSync(join(installed, name), path)
    }
    return this
  }

  write(files: Readonly<Record<string, string>>): this {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true })
      writeFileSync(join(this.folder, path), text)
    }
    return this
  }

  /** Runs Node.js in the project. */
  run(...args: readonly string[]): Promise<Ended> {
    return this.runWith({}, ...args)
  }

  /** runWith is run with more in its environment. */
  async runWith(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ended> {
    const options = { cwd: this.folder, env: { ...process.env, NODE_OPTIONS: '', NODE_PATH: '', ...env } }
    try {
      return { code: 0, ...(await execute(process.execPath, args, options)) }
    } catch (error) {
      const { code, stdout, stderr } = error as Ended
      return { code, stdout, stderr }
    }
  }

  /** Runs a file of the project, and returns what it prints. */
  async printed(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args)
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${stderr}${stdout}`)
    return stdout.trim()
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }
}

export function manifestOf(folder: string): { name: string; dependencies?: Record<string, string> } & Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

interface Manifest {
  readonly version: string
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
}
