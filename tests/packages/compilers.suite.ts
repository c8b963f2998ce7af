import { join } from 'node:path'
import { installOnce } from './install-once.ts'
import { root } from './project.suite.ts'

const folder = join(root, 'tests', 'packages', 'compilers')
const own = join(root, 'node_modules', 'typescript')

/** The compilers that are tried: old ones, and the one of this project. */
export type Compiler = '5.0' | '5.4' | '5.9' | '7'

/** Installs what is in compilers/package-lock.json, once. */
export const installCompilers = (): Promise<void> => installOnce(folder)

/** The script that is a compiler. */
export function compilerPath(version: Compiler): string {
  const dir = version === '7' ? own : join(folder, 'node_modules', `typescript-${version}`)
  return join(dir, 'bin', 'tsc')
}

/** The same compiler as a module. The one of this project has none yet. */
export function apiPath(version: Exclude<Compiler, '7'>): string {
  return join(folder, 'node_modules', `typescript-${version}`, 'lib', 'typescript.js')
}

/** The program esbuild, where it runs: its package for every platform has an install script. */
export function esbuildPath(): string {
  return join(folder, 'node_modules', '@esbuild', 'linux-x64', 'bin', 'esbuild')
}

export const hasEsbuild = process.platform === 'linux' && process.arch === 'x64'
