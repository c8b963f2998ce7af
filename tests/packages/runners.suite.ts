import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { npm } from '../../scripts/setup.mjs'
import { root } from './project.suite.ts'

const folder = join(root, 'tests', 'packages', 'runners')

/** runnerPath is a file of what installRunners installs. */
export const runnerPath = (...parts: readonly string[]): string => join(folder, 'node_modules', ...parts)

/** installRunners installs what is in runners/package-lock.json, once. Only the first time needs the registry. */
export async function installRunners(): Promise<void> {
  if (existsSync(runnerPath('.package-lock.json'))) return
  const { ok, text } = await npm(['ci', '--prefix', folder, '--workspaces=false', '--prefer-offline'], true)
  if (!ok) throw new Error(`installing the runners failed:\n${text}`)
}

/** Cloudflare's runtime, where there is a program of it: its package for every platform has an install script. */
export const workerdPath = (): string => runnerPath('@cloudflare', 'workerd-linux-64', 'bin', 'workerd')
export const hasWorkerd = process.platform === 'linux' && process.arch === 'x64'
