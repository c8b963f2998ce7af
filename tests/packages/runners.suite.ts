import { join } from 'node:path'
import { installOnce } from './install-once.ts'
import { root } from './project.suite.ts'

const folder = join(root, 'tests', 'packages', 'runners')

/** Returns the path of a file of what installRunners installs. */
export const runnerPath = (...parts: readonly string[]): string => join(folder, 'node_modules', ...parts)

/** Installs what is in runners/package-lock.json, once. */
export const installRunners = (): Promise<void> => installOnce(folder)

/** Cloudflare's runtime, where there is a program of it: its package for every platform has an install script. */
export const workerdPath = (): string => runnerPath('@cloudflare', 'workerd-linux-64', 'bin', 'workerd')
export const hasWorkerd = process.platform === 'linux' && process.arch === 'x64'
