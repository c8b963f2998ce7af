import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RuleDirectory, ruleText } from './rule-directory.suite.ts'
import { fingerprint, listRuleFiles, readRuleFiles } from './rule-files.ts'

const UNREADABLE = 'Rules must be a readable file, or a directory of .yaml and .yml files.'
const isRoot = process.getuid?.() === 0

async function listed(directory: RuleDirectory): Promise<string[]> {
  const files = await listRuleFiles([directory.path])
  return files.map((file) => relative(directory.path, file))
}

async function messageOf(paths: readonly string[]): Promise<string> {
  return readRuleFiles(paths).then(
    (texts) => `read ${texts.length}`,
    (error: Error) => error.message,
  )
}

describe('listRuleFiles', () => {
  it('finds .yaml and .yml files in a directory and below, in order of name', async () => {
    const directory = new RuleDirectory({ 'b.yml': '', 'a.yaml': '', 'c/d/e.yaml': '', 'c/a.yml': '', 'Z.yaml': '' })
    expect(await listed(directory)).toEqual(['Z.yaml', 'a.yaml', 'b.yml', 'c/a.yml', 'c/d/e.yaml'])
  })

  it('leaves out other files, and every name that starts with a dot', async () => {
    const directory = new RuleDirectory({
      'api.yaml': '',
      'api.yaml.bak': '',
      'api.yaml~': '',
      'README.md': '',
      yaml: '',
      '.api.yaml.swp': '',
      '.hidden.yaml': '',
      '.git/config.yaml': '',
      '..2026_01/api.yaml': '',
    })
    expect(await listed(directory)).toEqual(['api.yaml'])
  })

  it('takes a file that is named as it is, whatever its name', async () => {
    const directory = new RuleDirectory({ 'rules.conf': '', '.rules': '' })
    const files = [directory.at('rules.conf'), directory.at('.rules')]
    expect(await listRuleFiles(files)).toEqual(files)
  })

  it('keeps the order of paths', async () => {
    const directory = new RuleDirectory({ 'b/x.yaml': '', 'a/x.yaml': '' })
    expect(await listRuleFiles([directory.at('b'), directory.at('a')])).toEqual([
      directory.at('b/x.yaml'),
      directory.at('a/x.yaml'),
    ])
  })

  it('follows links to files and directories', async () => {
    const directory = new RuleDirectory({ '.store/api.yaml': '', '.store/more/users.yaml': '' })
    directory.link('api.yaml', '.store/api.yaml')
    directory.link('more', '.store/more')
    expect(await listed(directory)).toEqual(['api.yaml', 'more/users.yaml'])
  })

  it('finds each file of a ConfigMap once', async () => {
    const directory = new RuleDirectory()
    directory.mount('2026_01', { 'api.yaml': '', 'users.yaml': '' })
    directory.mount('2026_02', { 'api.yaml': '', 'users.yaml': '' })
    expect(await listed(directory)).toEqual(['api.yaml', 'users.yaml'])
  })

  it('takes a directory that is named like a file for what it is', async () => {
    const directory = new RuleDirectory({ 'api.yaml/users.yaml': '' })
    expect(await listed(directory)).toEqual(['api.yaml/users.yaml'])
  })

  it('refuses a link to a directory that it is in', async () => {
    const directory = new RuleDirectory({ 'a/api.yaml': '' })
    directory.link('a/again', '..')
    expect(await messageOf([directory.path])).toBe(
      `RULE_FILE_UNREADABLE: ${directory.at('a/again')}: a link to a directory that it is in. ${UNREADABLE}`,
    )
  })

  it('ignores a link that leads nowhere, unless it is named like a rule file', async () => {
    const directory = new RuleDirectory({ 'api.yaml': '' })
    directory.link('latest', 'gone')
    expect(await listed(directory)).toEqual(['api.yaml'])
    directory.link('users.yaml', 'gone')
    expect(await messageOf([directory.path])).toBe(
      `RULE_FILE_UNREADABLE: ${directory.at('users.yaml')}: the file does not exist (ENOENT). ${UNREADABLE}`,
    )
  })

  it('leaves pipes alone, which would never end', async () => {
    const directory = new RuleDirectory({ 'api.yaml': '' })
    execFileSync('mkfifo', [directory.at('pipe.yaml')])
    directory.link('link.yaml', 'pipe.yaml')
    expect(await listed(directory)).toEqual(['api.yaml'])
  })

  it('stops at 10,000 files', async () => {
    const directory = new RuleDirectory({ 'api.yaml': '' })
    for (let i = 0; i < 101; i++) directory.link(`all-${i}`, '.store')
    for (let i = 0; i < 100; i++) directory.write(`.store/${i}.yaml`, '')
    expect(await messageOf([directory.path])).toBe(
      `RULE_FILE_UNREADABLE: ${directory.at('all-99')}: more than 10000 files. ${UNREADABLE}`,
    )
  })
})

describe('readRuleFiles', () => {
  it('returns what the files say, under the names they were found by', async () => {
    const directory = new RuleDirectory({ 'a.yaml': 'domain: a\n', 'b/é.yaml': 'domain: ü\n' })
    expect(await readRuleFiles([directory.path])).toEqual([
      { file: directory.at('a.yaml'), text: 'domain: a\n' },
      { file: directory.at('b/é.yaml'), text: 'domain: ü\n' },
    ])
  })

  it('reads from a pipe that is named', async () => {
    const directory = new RuleDirectory()
    execFileSync('mkfifo', [directory.at('pipe')])
    const written = writeFile(directory.at('pipe'), 'domain: a\n')
    expect(await readRuleFiles([directory.at('pipe')])).toEqual([{ file: directory.at('pipe'), text: 'domain: a\n' }])
    await written
  })

  it('leaves a byte order mark out', async () => {
    const directory = new RuleDirectory({ 'a.yaml': '\ufeffdomain: a\n' })
    const [{ text }] = await readRuleFiles([directory.path])
    expect(text).toBe('domain: a\n')
  })

  it('refuses a directory without rule files', async () => {
    const directory = new RuleDirectory({ 'README.md': '' })
    expect(await messageOf([directory.path])).toBe(
      `RULE_FILE_UNREADABLE: ${directory.path}: no .yaml or .yml file in it. ${UNREADABLE}`,
    )
  })

  it('names every path that cannot be read, and only those', async () => {
    const directory = new RuleDirectory({ 'a.yaml': '' })
    const paths = [directory.at('none.yaml'), directory.at('a.yaml'), directory.at('a.yaml/none')]
    expect(await messageOf(paths)).toBe(
      `RULE_FILE_UNREADABLE: ${paths[0]}: the file does not exist (ENOENT). ${UNREADABLE}\n` +
        `RULE_FILE_UNREADABLE: ${paths[2]}: the file does not exist (ENOTDIR). ${UNREADABLE}`,
    )
  })

  it.skipIf(isRoot)(
    'names a file that this user may not read (skipped for root, who may read everything)',
    async () => {
      const directory = new RuleDirectory({ 'a.yaml': '' })
      chmodSync(directory.at('a.yaml'), 0)
      expect(await messageOf([directory.path])).toBe(
        `RULE_FILE_UNREADABLE: ${directory.at('a.yaml')}: this user has no permission to read it (EACCES). ${UNREADABLE}`,
      )
    },
  )

  it('names a link that leads in a circle', async () => {
    const directory = new RuleDirectory()
    directory.link('a.yaml', 'b.yaml')
    directory.link('b.yaml', 'a.yaml')
    expect(await messageOf([directory.path])).toBe(
      `RULE_FILE_UNREADABLE: ${directory.at('a.yaml')}: its links form a loop (ELOOP). ${UNREADABLE}`,
    )
  })

  it('does not read a file of more than 8 MiB', async () => {
    const directory = new RuleDirectory({ 'a.yaml': '', 'b.yaml': '' })
    truncateSync(directory.at('b.yaml'), 8 * 1024 * 1024 + 1)
    expect(await messageOf([directory.path])).toBe(
      `RULE_FILE_TOO_LARGE: ${directory.at('b.yaml')}: 8388609 bytes. A rule file must be at most 8 MiB. Split it by domain.`,
    )
  })

  it('refuses what is not UTF-8, instead of reading other values than were meant', async () => {
    const directory = new RuleDirectory()
    directory.write('a.yaml', Buffer.from('domain: caf\xe9\n', 'latin1'))
    expect(await messageOf([directory.path])).toBe(
      `RULE_SYNTAX: ${directory.at('a.yaml')}: the file is not UTF-8. A rule file must be valid YAML.`,
    )
  })
})

describe('fingerprint', () => {
  /** Says whether the fingerprint differs after a change. */
  async function changesBy(directory: RuleDirectory, change: () => void): Promise<boolean> {
    const before = await fingerprint([directory.path])
    expect(await fingerprint([directory.path])).toBe(before)
    change()
    return (await fingerprint([directory.path])) !== before
  }

  const made = (): RuleDirectory => new RuleDirectory({ 'a.yaml': ruleText(1), 'b/c.yaml': ruleText(2, 'b') })

  it.each<[string, (directory: RuleDirectory) => void]>([
    ['a file grows', (directory) => directory.write('a.yaml', ruleText(100))],
    ['a file is replaced', (directory) => directory.replace('a.yaml', ruleText(1))],
    ['a file is added', (directory) => directory.write('c.yaml', ruleText(1, 'c'))],
    ['a file is added below', (directory) => directory.write('b/d/e.yaml', ruleText(1, 'e'))],
    ['a file is removed', (directory) => directory.remove('a.yaml')],
    ['all is removed', (directory) => directory.remove()],
  ])('changes when %s', async (_, change) => {
    const directory = made()
    expect(await changesBy(directory, () => change(directory))).toBe(true)
  })

  it.each<[string, (directory: RuleDirectory) => void]>([
    ['another file is', (directory) => directory.write('README.md', 'changed')],
    ['a draft is', (directory) => directory.write('.a.yaml.swp', 'changed')],
    ['an empty directory is added', (directory) => mkdirSync(directory.at('empty'))],
  ])('stays when %s', async (_, change) => {
    const directory = made()
    expect(await changesBy(directory, () => change(directory))).toBe(false)
  })

  it.each<[string, (file: string) => void]>([
    [
      'a file is rewritten with the same size and its time is set back',
      (file) => {
        const { atime, mtime } = statSync(file)
        writeFileSync(file, ruleText(7))
        utimesSync(file, atime, mtime)
      },
    ],
    ['who may read a file changes', (file) => chmodSync(file, 0o600)],
  ])('changes when %s', async (_, change) => {
    const directory = made()
    const file = directory.at('a.yaml')
    const { ctimeMs, mtimeMs, size } = statSync(file)
    expect(
      await changesBy(directory, () => {
        // The file system's clock may tick as slowly as 100 times a second: go on until it has moved.
        while (statSync(file).ctimeMs === ctimeMs) change(file)
      }),
    ).toBe(true)
    // Set back to a whole millisecond, which may be half of one away.
    expect(statSync(file)).toMatchObject({ mtimeMs: expect.closeTo(mtimeMs, -1), size })
  })

  it('changes when a ConfigMap is swapped for one of the same content', async () => {
    const directory = new RuleDirectory()
    directory.mount('2026_01', { 'api.yaml': ruleText(1) })
    expect(await changesBy(directory, () => directory.mount('2026_02', { 'api.yaml': ruleText(1) }))).toBe(true)
  })
})
