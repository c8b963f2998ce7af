import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { describeRules } from '../../src/core/rules/describe.ts'
import { loadRules, type RuleInput, type RuleText } from '../../src/core/rules/load.ts'
import { RulesError } from '../../src/core/rules/problems.ts'
import { ThreadLoader, type ThreadLoaderOptions } from '../../src/sources/thread-loader.ts'
import { until } from '../servers/until.mjs'

const ENTRY = new URL('../../dist/sources/loader-thread.js', import.meta.url)
const RULE =
  'The previous rules stay in force. Changed rules are loaded in a separate thread, with at most 1 GiB of memory and one minute.'

const threads = vi.hoisted(() => ({ started: [] as Worker[] }))

vi.mock('node:worker_threads', async (actual) => {
  const real = await actual<typeof import('node:worker_threads')>()
  class SeenWorker extends real.Worker {
    constructor(...args: ConstructorParameters<typeof real.Worker>) {
      super(...args)
      threads.started.push(this)
    }
  }
  return { ...real, Worker: SeenWorker }
})

const loaders: ThreadLoader[] = []
const directory = mkdtempSync(join(tmpdir(), 'sluice-thread-'))

beforeEach(() => {
  threads.started = []
})

afterEach(() => {
  for (const loader of loaders.splice(0)) loader.close()
})

process.on('exit', () => rmSync(directory, { recursive: true, force: true }))

function loaderOf(options: ThreadLoaderOptions = {}): ThreadLoader {
  const loader = new ThreadLoader({ entry: ENTRY, ...options })
  loaders.push(loader)
  return loader
}

/** A file with so many rules. */
function rules(count: number, file = 'api.yaml', unit = 'minute'): RuleInput {
  const lines = Array.from({ length: count }, (_, i) => {
    const pattern =
      i % 3 === 0 ? `value: u${i}` : i % 3 === 1 ? `value: "*/${i}/*"` : `cidr: 10.${i % 250}.${i % 7}.0/24`
    return `  - { key: k${i % 5}, ${pattern}, rate_limit: { unit: ${unit}, requests_per_unit: ${i} } }\n`
  })
  return { file, text: `domain: ${file}\ndescriptors:\n${lines.join('')}` }
}

/** Returns why inputs are refused. */
async function refusalOf(loader: ThreadLoader, ...inputs: RuleInput[]): Promise<string> {
  try {
    await loader.load(inputs, {})
  } catch (error) {
    if (error instanceof RulesError) return error.message
    throw error
  }
  throw new Error('they were loaded')
}

/** Writes code that runs in the thread before the loader does. */
function entryOf(name: string, code: string): URL {
  const file = join(directory, `${name}.mjs`)
  const imports = `import { parentPort } from 'node:worker_threads'\n`
  writeFileSync(file, `${imports}${code}\nawait import(${JSON.stringify(ENTRY.href)})\n`)
  return pathToFileURL(file)
}

/** onLoad is code for the thread to run when it is to load a file of this name. */
const onLoad = (file: string, code: string): string =>
  `parentPort.on('message', ({ inputs }) => { if (inputs?.[0].file === '${file}') { ${code} } })`

describe('ThreadLoader', () => {
  it('passes the thread the defaults of limits', async () => {
    const options = { defaults: { algorithm: 'fixed_window', count_denied: true } } as const
    const { rules: loaded } = await loaderOf({ short: 0 }).load([rules(5)], options)
    expect(threads.started).toHaveLength(1)
    expect(describeRules(loaded)).toEqual(describeRules(loadRules([rules(5)], options)))
    expect(describeRules(loaded).join()).toContain('fixed_window, refused ones count')
  })

  it('returns the rules that loadRules returns, from one thread for all loads', async () => {
    const loader = loaderOf()
    for (const count of [100, 1_000]) {
      const { rules: loaded } = await loader.load([rules(count), rules(50, 'b.yaml')], {})
      expect(describeRules(loaded)).toEqual(describeRules(loadRules([rules(count), rules(50, 'b.yaml')])))
    }
    expect(threads.started).toHaveLength(1)
  })

  it('loads objects, and joins domains where that is asked for', async () => {
    const value = { domain: 'api.yaml', descriptors: [{ key: 'x', rate_limit: { unlimited: true } }] }
    const inputs = [rules(100), { file: 'row 1', value }]
    const { rules: loaded } = await loaderOf().load(inputs, { mergeDomains: true })
    expect(loaded.ruleCount).toBe(101)
    expect(await refusalOf(loaderOf(), ...inputs)).toBe(
      'RULE_DUPLICATE_DOMAIN: row 1.domain: "api.yaml" is already defined at api.yaml:1:9. A domain must be defined only once. Rename one, or merge them.',
    )
  })

  it('refuses what loadRules refuses, with the same words', async () => {
    const wrong = [rules(1_200, 'a.yaml', 'minut'), rules(200), { file: 'c.yaml', text: '[' }]
    const expected = ((): string => {
      try {
        loadRules(wrong)
      } catch (error) {
        return (error as RulesError).message
      }
      return ''
    })()
    expect(expected).toContain('… and ')
    expect(await refusalOf(loaderOf(), ...wrong)).toBe(expected)
  })

  it('checks a text together with others, in turn with loads, and says what it comes to alone', async () => {
    const loader = loaderOf()
    const [own, other] = [rules(200), rules(300, 'b.yaml')] as RuleText[]
    const [figures, loaded, again] = await Promise.all([
      loader.check(own, [other], {}),
      loader.load([rules(100), other], {}),
      loader.check(own, [], {}),
    ])
    expect([figures, again]).toEqual([
      { limits: 200, domains: ['api.yaml'] },
      { limits: 200, domains: ['api.yaml'] },
    ])
    expect(loaded.rules.ruleCount).toBe(400)
    expect(loader.check(rules(5) as RuleText, [], {})).toEqual({ limits: 5, domains: ['api.yaml'] })
    await expect(loader.check(own, [rules(300)], {})).rejects.toThrow(/^RULE_DUPLICATE_DOMAIN: api.yaml:1:9: /)
    expect(threads.started).toHaveLength(1)
  })

  it('loads few rules here, without a thread', () => {
    const loaded = loaderOf().load([rules(10)], {})
    expect(loaded).toMatchObject({ rules: { ruleCount: 10 } })
    expect(threads.started).toEqual([])
  })

  it('lets the event loop go round between any two parts', async () => {
    let turns = 0
    let isDone = false
    const count = (): void => {
      turns++
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    const { parts = [] } = await loaderOf({ keepParts: true }).load([rules(3_000)], {})
    isDone = true
    expect(parts.length).toBeGreaterThan(10)
    expect(turns).toBeGreaterThan(parts.length)
  })

  it('ends its thread when it has nothing to do, and starts another for the next load', async () => {
    const loader = loaderOf({ idleMs: 1 })
    await loader.load([rules(100)], {})
    await until('the thread has ended', () => threads.started[0].threadId === -1)
    expect((await loader.load([rules(200)], {})).rules.ruleCount).toBe(200)
    expect(threads.started).toHaveLength(2)
  })

  it('keeps no process alive', () => {
    const library = new URL('../../dist/sources/thread-loader.js', import.meta.url).href
    const code = `
      import { ThreadLoader } from ${JSON.stringify(library)}
      const [input] = JSON.parse(process.argv[1])
      const until = setInterval(() => {}, 1_000)
      const { rules } = await new ThreadLoader({ idleMs: 86_400_000 }).load([input], {})
      console.log(rules.ruleCount)
      clearInterval(until)`
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', code, JSON.stringify([rules(100)])],
      { encoding: 'utf8', timeout: 60_000, cwd: fileURLToPath(new URL('../..', import.meta.url)) },
    )
    expect({ stdout, stderr, status }).toEqual({ stdout: '100\n', stderr: '', status: 0 })
  })
})

describe('a thread that fails', () => {
  const load = (loader: ThreadLoader): Promise<number> =>
    Promise.resolve(loader.load([rules(100)], {})).then(({ rules: { ruleCount } }) => ruleCount)

  it.each<[string, code: string, reason: string]>([
    ['ends', 'process.exit(3)', 'it ended with exit code 3'],
    ['throws', "throw new Error('out of luck')", 'out of luck'],
    ['says something else', "parentPort.postMessage({ type: 'fault', reason: 'odd' })", 'odd'],
  ])('is a refusal when it %s, and the next load works', async (name, code, reason) => {
    const loader = loaderOf({ entry: entryOf(name.replaceAll(' ', '-'), onLoad('bad.yaml', code)) })
    expect(await load(loader)).toBe(100)
    expect(await refusalOf(loader, rules(100, 'bad.yaml'), rules(1))).toBe(
      `RELOAD_FAILED: bad.yaml and 1 more: ${reason}. ${RULE}`,
    )
    expect(await load(loader)).toBe(100)
    expect(threads.started).toHaveLength(2)
  })

  it('is a refusal when it runs out of memory', async () => {
    const loader = loaderOf({ mostHeapMib: 24 })
    expect(await refusalOf(loader, rules(20_000))).toBe(`RELOAD_FAILED: api.yaml: it ran out of memory. ${RULE}`)
    expect(await load(loader)).toBe(100)
  })

  it('is a refusal when no answer', async () => {
    const entry = entryOf('hangs', onLoad('bad.yaml', 'for (;;);'))
    const loader = loaderOf({ entry, maxWaitMs: 1_000 })
    expect(await refusalOf(loader, rules(100, 'bad.yaml'))).toBe(
      `RELOAD_FAILED: bad.yaml: no answer within 1000 ms. ${RULE}`,
    )
  })

  it('is replaced when it ended between two loads', async () => {
    const loader = loaderOf()
    expect(await load(loader)).toBe(100)
    await threads.started[0].terminate()
    expect(await load(loader)).toBe(100)
  })

  it('is a refusal when it is closed meanwhile', async () => {
    const loader = loaderOf()
    const refusal = refusalOf(loader, rules(5_000))
    await until('a thread was started', () => threads.started.length === 1)
    loader.close()
    expect(await refusal).toBe(`RELOAD_FAILED: api.yaml: it ended with exit code 1. ${RULE}`)
  })

  it('is not needed: where there is none to be had, rules are loaded here', async () => {
    const loader = loaderOf({ entry: pathToFileURL(join(directory, 'none.mjs')) })
    expect(await load(loader)).toBe(100)
    expect(await load(loader)).toBe(100)
  })
})
