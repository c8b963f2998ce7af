import { appendFileSync, mkdirSync, renameSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { RulesError } from '../core/rules/problems.ts'
import { LiveRules } from '../engine/live-rules.ts'
import { RuleDirectory, ruleText } from './rule-directory.suite.ts'
import { fingerprint } from './rule-files.ts'
import { type RuleReceiver, RuleWatcher } from './rule-watcher.ts'

/** What is to happen right after files were read: something that changes them, or that waits. */
const afterReading = vi.hoisted(() => ({ once: [] as (() => void | Promise<void>)[], reads: 0 }))

vi.mock('./rule-files.ts', async (actual) => {
  const files = await actual<typeof import('./rule-files.ts')>()
  return {
    ...files,
    readRuleFiles: async (paths: readonly string[]) => {
      afterReading.reads++
      const texts = await files.readRuleFiles(paths)
      await afterReading.once.shift()?.()
      return texts
    },
  }
})

beforeEach(() => {
  afterReading.once = []
  afterReading.reads = 0
})

/** A watcher of a directory, driven by hand, and what came of it. */
class Watched {
  readonly directory: RuleDirectory
  readonly refused: string[] = []
  readonly live: LiveRules
  readonly watcher: RuleWatcher

  constructor(directory: RuleDirectory, paths: readonly string[] = [directory.path]) {
    const refused = ({ message }: RulesError): void => {
      this.refused.push(message.replaceAll(directory.path, 'rules'))
    }
    this.directory = directory
    this.live = new LiveRules({}, { refused })
    this.watcher = new RuleWatcher(paths, this.live, () => () => {})
  }

  /** Returns the limit in force in each domain. */
  get limits(): Record<string, number | undefined> {
    const domains = [...this.live.current().domains.values()]
    return Object.fromEntries(
      domains.map(({ name, root }) => [name, root.branches.get('user')?.any?.rules[0].limit.max]),
    )
  }

  /** Looks so many times; a change takes two. */
  async looks(times: number): Promise<void> {
    for (let i = 0; i < times; i++) await this.watcher.look()
  }
}

async function started(files: Record<string, string> = { 'api.yaml': ruleText(1) }): Promise<Watched> {
  const watched = new Watched(new RuleDirectory(files))
  expect(await watched.watcher.start()).toBe(true)
  return watched
}

const UNREADABLE = 'Rules must be a readable file, or a directory of .yaml and .yml files.'
const TYPO = ruleText(9).replace('unit: day', 'unit: minut')
const EXPECTED =
  'RULE_INVALID: rules/api.yaml:4:25: unit: got "minut" ' +
  '(invalid option: expected one of "second"|"minute"|"hour"|"day"|"week"|"month"|"year"). ' +
  'See docs/rules.md for the rule language.'

describe('RuleWatcher: ways to change a file', () => {
  it.each<[string, (directory: RuleDirectory) => void]>([
    ['a plain write', (directory) => directory.write('api.yaml', ruleText(20))],
    ['a rename over it', (directory) => directory.replace('api.yaml', ruleText(20))],
    [
      'a backup and a new file, as vim does it',
      (directory) => {
        renameSync(directory.at('api.yaml'), directory.at('api.yaml~'))
        directory.write('api.yaml', ruleText(20))
      },
    ],
    [
      'deleting and writing it again',
      (directory) => {
        directory.remove('api.yaml')
        directory.write('api.yaml', ruleText(20))
      },
    ],
    [
      'another directory in the place of this one',
      (directory) => {
        directory.write('../next/api.yaml', ruleText(20))
        renameSync(directory.path, `${directory.path}.old`)
        renameSync(directory.at('../next'), directory.path)
      },
    ],
    [
      'moving it below',
      (directory) => {
        directory.remove('api.yaml')
        directory.write('teams/api.yaml', ruleText(20))
      },
    ],
  ])('sees %s at the second look', async (_, change) => {
    const watched = await started()
    change(watched.directory)
    await watched.looks(1)
    expect(watched.limits).toEqual({ api: 1 })
    await watched.looks(1)
    expect(watched.limits).toEqual({ api: 20 })
    expect(watched.refused).toEqual([])
  })

  it('sees a change that keeps the size and the time of the file', async () => {
    const watched = await started()
    const file = watched.directory.at('api.yaml')
    const { atime, mtime, ctimeMs } = statSync(file)
    while (statSync(file).ctimeMs === ctimeMs) {
      writeFileSync(file, ruleText(7))
      utimesSync(file, atime, mtime)
    }
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 7 })
  })

  it('sees the swap of a ConfigMap, all files together', async () => {
    const directory = new RuleDirectory()
    directory.mount('2026_01', { 'api.yaml': ruleText(1), 'users.yaml': ruleText(2, 'users') })
    const watched = new Watched(directory)
    expect(await watched.watcher.start()).toBe(true)
    expect(watched.limits).toEqual({ api: 1, users: 2 })

    directory.mount('2026_02', { 'api.yaml': ruleText(3), 'users.yaml': ruleText(4, 'users') })
    directory.remove('..2026_01')
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 3, users: 4 })
    expect(watched.refused).toEqual([])
    expect(watched.live.counts).toEqual({ loads: 2, refusals: 0 })
  })

  it('sees the swap of a ConfigMap of which one file is named', async () => {
    const directory = new RuleDirectory()
    directory.mount('2026_01', { 'api.yaml': ruleText(1) })
    const watched = new Watched(directory, [directory.at('api.yaml')])
    await watched.watcher.start()
    directory.mount('2026_02', { 'api.yaml': ruleText(2) })
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 2 })
  })

  it('sees files come and go, below too', async () => {
    const watched = await started()
    watched.directory.write('teams/a/users.yml', ruleText(5, 'users'))
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 1, users: 5 })
    watched.directory.remove('teams')
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 1 })
  })

  it('does not read what is no rule file', async () => {
    const watched = await started()
    watched.directory.write('.api.yaml.swp', 'draft')
    watched.directory.write('.git/hooks.yaml', 'draft')
    watched.directory.write('notes.txt', 'notes')
    await watched.looks(3)
    expect(afterReading.reads).toBe(1)
  })

  it('reads once when a file is written again with the same content, and loads nothing', async () => {
    const watched = await started()
    const before = watched.live.current()
    watched.directory.replace('api.yaml', ruleText(1))
    await watched.looks(5)
    expect(afterReading.reads).toBe(2)
    expect(watched.live.current()).toBe(before)
    expect(watched.live.counts).toEqual({ loads: 1, refusals: 0 })
  })

  it('watches several paths together', async () => {
    const directory = new RuleDirectory({ 'a/api.yaml': ruleText(1), 'b.conf': ruleText(2, 'b') })
    const watched = new Watched(directory, [directory.at('a'), directory.at('b.conf')])
    await watched.watcher.start()
    directory.write('b.conf', ruleText(30, 'b'))
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 1, b: 30 })
  })
})

describe('RuleWatcher: files that are not complete', () => {
  const [first, second] = [ruleText(50).slice(0, 70), ruleText(50).slice(70)]

  it('leaves a file alone that is written in pieces', async () => {
    const watched = await started()
    watched.directory.write('api.yaml', first)
    for (const character of second) {
      await watched.looks(1)
      expect(watched.limits).toEqual({ api: 1 })
      appendFileSync(watched.directory.at('api.yaml'), character)
    }
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 50 })
    expect(watched.refused).toEqual([])
    expect(watched.live.counts).toEqual({ loads: 2, refusals: 0 })
  })

  it('refuses half a file that stays so, keeps the last good rules, and recovers', async () => {
    const watched = await started()
    watched.directory.write('api.yaml', first)
    await watched.looks(5)
    expect(watched.limits).toEqual({ api: 1 })
    expect(watched.refused).toHaveLength(1)
    expect(watched.refused[0]).toMatch(/^RULE_SYNTAX: rules\/api\.yaml:4:\d+: /)
    appendFileSync(watched.directory.at('api.yaml'), second)
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 50 })
    expect(watched.live.counts).toEqual({ loads: 2, refusals: 1 })
  })

  it('does not put a mix of two versions into force', async () => {
    const watched = await started({ 'a.yaml': ruleText(1, 'a'), 'b.yaml': ruleText(1, 'b') })
    watched.directory.write('a.yaml', ruleText(20, 'a'))
    await watched.looks(1)
    // While the files are read, the next version arrives: a domain moves from one file to the other.
    afterReading.once = [
      () => {
        watched.directory.write('a.yaml', ruleText(300, 'b'))
        watched.directory.write('b.yaml', ruleText(300, 'a'))
      },
    ]
    await watched.looks(1)
    expect(watched.limits).toEqual({ a: 1, b: 1 })
    await watched.looks(2)
    expect(watched.limits).toEqual({ b: 300, a: 300 })
    expect(watched.live.counts).toEqual({ loads: 2, refusals: 0 })
  })

  it('reads again on reload when the files change meanwhile, and takes them as they are after the fifth time', async () => {
    const watched = await started()
    watched.directory.write('api.yaml', ruleText(10))
    afterReading.once = [() => watched.directory.write('api.yaml', ruleText(200))]
    expect(await watched.watcher.reload()).toBe(true)
    expect(watched.limits).toEqual({ api: 200 })

    afterReading.reads = 0
    afterReading.once = [1, 2, 3, 4, 5, 6, 7].map((i) => () => watched.directory.write('api.yaml', ruleText(10 ** i)))
    expect(await watched.watcher.reload()).toBe(true)
    expect(afterReading.reads).toBe(5)
    expect(watched.limits).toEqual({ api: 10_000 })
    afterReading.once = []
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 100_000 })
  })
})

describe('RuleWatcher: files that are wrong', () => {
  it('keeps the last good rules, and reports why once for all looks', async () => {
    const watched = await started()
    watched.directory.write('api.yaml', TYPO)
    await watched.looks(5)
    expect(watched.limits).toEqual({ api: 1 })
    expect(watched.refused).toEqual([EXPECTED])
    expect(watched.live.counts).toEqual({ loads: 1, refusals: 1 })
  })

  it('counts another wrong file of the same reason, but reports it only once until a good one came', async () => {
    const watched = await started()
    for (const text of [TYPO, `${TYPO}# still\n`]) {
      watched.directory.write('api.yaml', text)
      await watched.looks(2)
    }
    expect(watched.refused).toEqual([EXPECTED])
    expect(watched.live.counts).toEqual({ loads: 1, refusals: 2 })

    watched.directory.write('api.yaml', ruleText(30))
    await watched.looks(2)
    watched.directory.write('api.yaml', TYPO)
    await watched.looks(2)
    expect(watched.refused).toEqual([EXPECTED, EXPECTED])
    expect(watched.limits).toEqual({ api: 30 })
  })

  it('takes nothing of a good file that comes with a bad one', async () => {
    const watched = await started({ 'a.yaml': ruleText(1, 'a'), 'b.yaml': ruleText(1, 'b') })
    watched.directory.write('a.yaml', ruleText(20, 'a'))
    watched.directory.write('b.yaml', 'domain: b\nlimits: []\n')
    await watched.looks(2)
    expect(watched.limits).toEqual({ a: 1, b: 1 })
    watched.directory.write('b.yaml', ruleText(20, 'b'))
    await watched.looks(2)
    expect(watched.limits).toEqual({ a: 20, b: 20 })
  })

  it('keeps the rules when the file is deleted, and finds it again', async () => {
    const watched = await started()
    watched.directory.remove('api.yaml')
    await watched.looks(3)
    expect(watched.limits).toEqual({ api: 1 })
    expect(watched.refused).toEqual([`RULE_FILE_UNREADABLE: rules: no .yaml or .yml file in it. ${UNREADABLE}`])
    watched.directory.write('api.yaml', ruleText(40))
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 40 })
  })

  it('keeps the rules when the whole directory is deleted, and finds it again', async () => {
    const watched = await started()
    watched.directory.remove()
    await watched.looks(3)
    expect(watched.limits).toEqual({ api: 1 })
    expect(watched.refused).toEqual([`RULE_FILE_UNREADABLE: rules: the file does not exist (ENOENT). ${UNREADABLE}`])
    mkdirSync(watched.directory.path)
    await watched.looks(2)
    expect(watched.refused[1]).toBe(`RULE_FILE_UNREADABLE: rules: no .yaml or .yml file in it. ${UNREADABLE}`)
    watched.directory.write('api.yaml', ruleText(1))
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 1 })
    expect(watched.live.counts).toEqual({ loads: 2, refusals: 2 })
  })

  it('does not read a file of more than 8 MiB, and resumes when it is small again', async () => {
    const watched = await started()
    watched.directory.write('api.yaml', ruleText(60))
    truncateSync(watched.directory.at('api.yaml'), 9 * 1024 * 1024)
    await watched.looks(2)
    expect(watched.refused).toEqual([
      'RULE_FILE_TOO_LARGE: rules/api.yaml: 9437184 bytes. A rule file must be at most 8 MiB. Split it by domain.',
    ])
    truncateSync(watched.directory.at('api.yaml'), ruleText(60).length)
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 60 })
  })

  it('starts with wrong files as well: they are refused, and watched', async () => {
    const watched = new Watched(new RuleDirectory({ 'api.yaml': TYPO }))
    expect(await watched.watcher.start()).toBe(false)
    watched.directory.write('api.yaml', ruleText(2))
    await watched.looks(2)
    expect(watched.limits).toEqual({ api: 2 })
  })

  it('takes a fault of the receiver for a refusal', async () => {
    const refused: string[] = []
    const faulty: RuleReceiver = {
      apply: () => {
        throw new Error('out of luck')
      },
      refuse: ({ message }) => refused.push(message),
    }
    const { path } = new RuleDirectory({ 'api.yaml': ruleText(1) })
    expect(await new RuleWatcher([path], faulty, () => () => {}).start()).toBe(false)
    expect(refused).toEqual([`RULE_SYNTAX: ${path}: Error: out of luck. A rule file must be valid YAML.`])
  })
})

describe('RuleWatcher: turns', () => {
  it('lets no look that began before a reload put older rules into force after it', async () => {
    const watched = await started()
    watched.directory.write('api.yaml', ruleText(10))
    await watched.looks(1)
    let goOn = (): void => {}
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    afterReading.once = [() => held]
    const look = watched.watcher.look()
    await vi.waitUntil(() => afterReading.reads === 2, 60_000)
    watched.directory.write('api.yaml', ruleText(200))
    const reload = watched.watcher.reload()
    // Time enough for the reload to get ahead, if it could.
    for (let i = 0; i < 20; i++) await fingerprint([watched.directory.path])
    goOn()
    await Promise.all([look, reload])
    expect(watched.limits).toEqual({ api: 200 })
    await watched.looks(3)
    expect(watched.limits).toEqual({ api: 200 })
  })

  it('reports nothing after it was stopped', async () => {
    const watched = await started()
    watched.directory.write('api.yaml', ruleText(10))
    await watched.looks(1)
    afterReading.once = [() => watched.watcher.stop()]
    await watched.looks(1)
    expect(watched.limits).toEqual({ api: 1 })
  })

  it('asks for the next look when one has ended, and for none when it was stopped', async () => {
    const { path } = new RuleDirectory({ 'api.yaml': ruleText(1) })
    const asked: (() => void)[] = []
    let cancelled = 0
    const watcher = new RuleWatcher([path], new LiveRules(), (look) => {
      asked.push(look)
      return () => cancelled++
    })
    await watcher.start()
    expect(asked).toHaveLength(1)
    asked[0]()
    await vi.waitUntil(() => asked.length === 2, 60_000)
    watcher.stop()
    expect(cancelled).toBe(1)
    asked[1]()
    // The look that was asked for ends before this one does.
    await watcher.look()
    expect(asked).toHaveLength(2)
  })
})
