import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { sharedRedis } from '../servers/shared.ts'
import { run, startWith } from './sluice-process.suite.ts'

const server = fileURLToPath(new URL('../../server', import.meta.url))
const listing = new URL('./loaded-files.mjs', import.meta.url).href
const RULES = 'domain: api\ndescriptors:\n  - key: user\n    rate_limit: { unit: day, requests_per_unit: 5 }\n'

/** Returns the addresses of the files that a run loaded. `end` carries it out, with these variables. */
async function loadedBy(end: (env: Record<string, string>) => unknown): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-loaded-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'list.json')
  await end({ NODE_OPTIONS: `--import ${listing}`, LOADED_FILES: path })
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** Returns what a service loads from its start to its end. */
function loadedByService(...args: string[]): Promise<string[]> {
  const rules = new RuleDirectory({ 'api.yaml': RULES })
  return loadedBy(async (env) => {
    const { child, output } = await startWith(env, '--rules', rules.path, ...args)
    child.kill('SIGTERM')
    await output
  })
}

const placesOf = (urls: readonly string[]): Set<string> =>
  new Set(urls.map((url) => dirname(fileURLToPath(url)).slice(server.length + 1)))
const namesOf = (urls: readonly string[]): string[] => urls.map((url) => basename(url))

const textsOf = (urls: readonly string[]): string[] => urls.map((url) => readFileSync(fileURLToPath(url), 'utf8'))
/** Returns which compiled files are in what was loaded. Files of the bundle are named after one of those that are in them. */
const modulesOf = (urls: readonly string[]): string[] =>
  textsOf(urls).flatMap((text) => [...text.matchAll(/^\/\/#region (\S+)\.js$/gm)].map(([, name]) => name))

const builtinsOf = (urls: readonly string[]): string[] =>
  textsOf(urls).flatMap((text) => [...text.matchAll(/^import .*["']node:([\w/]+)["'];?$/gm)].map(([, name]) => name))

describe('a start of the service', () => {
  it('reads a few of its own files, and none of another package', async () => {
    const files = await loadedByService()
    expect(namesOf(files)).toEqual(expect.arrayContaining(['sluice.mjs', 'main.js', 'serve.js', 'yaml.cjs']))
    expect(placesOf(files)).toEqual(new Set(['bin', 'dist/bundle']))
    expect(files.length).toBeLessThan(40)
  })

  it('reads nothing about Redis, workers and the other commands unless it needs them', async () => {
    const unused = ['dist/stores/redis/redis-store', 'dist/stores/open/open-redis', 'server/dist/app/workers/primary']
    const commands = ['check', 'explain', 'help', 'reset'].map((name) => `server/dist/cli/${name}`)
    const loaded = modulesOf(await loadedByService())
    expect(loaded).toContain('server/dist/cli/serve')
    expect(loaded.filter((name) => [...unused, ...commands].includes(name))).toEqual([])
    const { url } = await sharedRedis()
    expect(modulesOf(await loadedByService('--redis', url))).toEqual(expect.arrayContaining(unused.slice(0, 2)))
  })

  it('imports no TLS, HTTP/2, threads or child processes of Node.js: who needs them loads them', async () => {
    const heavy = ['tls', 'http2', 'https', 'worker_threads', 'child_process', 'perf_hooks', 'cluster', 'inspector']
    const { url } = await sharedRedis()
    const modules = builtinsOf([...(await loadedByService()), ...(await loadedByService('--redis', url))])
    expect(modules).toContain('http')
    expect(modules.filter((name) => heavy.includes(name))).toEqual([])
  })
})

describe('a command', () => {
  it.each([
    ['--version', [], 'main'],
    ['--help', [], 'help'],
    ['check', [join(server, 'examples')], 'check'],
  ])('%s reads what it needs, and nothing of the service', async (command, args, needed) => {
    const files = await loadedBy((env) => {
      expect(run([command, ...args], { env })).toMatchObject({ status: 0, stderr: '' })
    })
    const loaded = modulesOf(files)
    expect(loaded).toContain(`server/dist/cli/${needed}`)
    expect(loaded.filter((name) => /cli\/serve$|stores\/open\/open-store$/.test(name))).toEqual([])
    expect(placesOf(files)).toEqual(new Set(['bin', 'dist/bundle']))
  })
})
