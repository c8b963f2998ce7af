import type { Dirent } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SluiceError } from '../core/errors.ts'
import type { RuleText } from '../core/rules/load.ts'
import { RulesError } from '../core/rules/problems.ts'

const MAX_FILES = 10_000
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Returns the rule files of paths: a file as it is, of a directory every .yaml and .yml file in it and below, in order
 * of name. Names that start with a dot are not looked at: Kubernetes keeps a ConfigMap's versions in such directories,
 * and editors their drafts. It throws a RulesError that names what cannot be read.
 */
export async function listRuleFiles(paths: readonly string[]): Promise<string[]> {
  const files: string[] = []
  for (const path of paths) {
    const info = await reading(path, () => stat(path))
    if (info.isDirectory()) await collect(path, files, [])
    // Whatever else is named is read as it is: a pipe and /dev/stdin, too.
    else files.push(path)
  }
  return files
}

/** Adds the files of a directory. `above` holds the real paths of the directories it is in. */
async function collect(directory: string, files: string[], above: readonly string[]): Promise<void> {
  const real = await reading(directory, () => realpath(directory))
  if (above.includes(real)) throw unreadable(directory, 'a link to a directory that it is in')
  const entries = await reading(directory, () => readdir(directory, { withFileTypes: true }))
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.')) continue
    const path = join(directory, entry.name)
    const kind = await reading(path, () => kindOf(path, entry))
    if (kind === 'directory') await collect(path, files, [...above, real])
    else if (kind === 'rules') files.push(path)
    if (files.length > MAX_FILES) throw unreadable(directory, `more than ${MAX_FILES} files`)
  }
}

/** Follows links. A pipe or a device among the files would never end, and is left alone. */
async function kindOf(path: string, entry: Dirent): Promise<'directory' | 'rules' | undefined> {
  const isNamedSo = /\.ya?ml$/.test(entry.name)
  if (entry.isFile()) return isNamedSo ? 'rules' : undefined
  if (entry.isDirectory()) return 'directory'
  if (!entry.isSymbolicLink()) return undefined
  try {
    const info = await stat(path)
    if (info.isDirectory()) return 'directory'
    return isNamedSo && info.isFile() ? 'rules' : undefined
  } catch (error) {
    // A link that leads nowhere matters only where it should lead to rules.
    if (isNamedSo) throw error
    return undefined
  }
}

/** Reads the rule files of paths. It throws a RulesError that names all that cannot be read. */
export async function readRuleFiles(paths: readonly string[]): Promise<RuleText[]> {
  const files = await each(paths, (path) => listRuleFiles([path]))
  const listed = files.flat()
  if (listed.length === 0) throw unreadable(paths.join(', '), 'no .yaml or .yml file in it')
  return each(listed, (file) => reading(file, () => readRuleFile(file)))
}

/** Does its work for all items, one after the other, and throws the errors of all that fail as one. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const errors: SluiceError[] = []
  for (const item of items) {
    try {
      results.push(await work(item))
    } catch (error) {
      if (!(error instanceof RulesError)) throw error
      errors.push(...error.errors)
    }
  }
  if (errors.length > 0) throw new RulesError(errors)
  return results
}

async function readRuleFile(file: string): Promise<RuleText> {
  const { size } = await stat(file)
  if (size > MAX_BYTES) throw new RulesError([new SluiceError('RULE_FILE_TOO_LARGE', file, `${size} bytes`)])
  const bytes = await readFile(file)
  try {
    return { file, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    throw new RulesError([new SluiceError('RULE_SYNTAX', file, 'the file is not UTF-8')])
  }
}

/** Changes whenever a rule file does: it is made of the real paths, times and sizes. */
export async function fingerprint(paths: readonly string[]): Promise<string> {
  try {
    const files = await listRuleFiles(paths)
    const marks = files.map(async (file) => {
      const [{ mtimeMs, ctimeMs, size, ino }, real] = await Promise.all([stat(file), realpath(file)])
      return `${file} ${real} ${mtimeMs} ${ctimeMs} ${size} ${ino}`
    })
    return (await Promise.all(marks)).join('\n')
  } catch (error) {
    return `unreadable: ${String(error)}`
  }
}

/** Turns the errors of the file system into a RulesError that names the path. */
async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof RulesError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const reason = REASONS.get(code ?? '')
    throw unreadable(path, reason === undefined ? message : `${reason} (${code})`)
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'the file does not exist'],
  ['ENOTDIR', 'the file does not exist'],
  ['EACCES', 'this user has no permission to read it'],
  ['EPERM', 'this user has no permission to read it'],
  ['ELOOP', 'its links form a loop'],
])

function unreadable(path: string, reason: string): RulesError {
  return new RulesError([new SluiceError('RULE_FILE_UNREADABLE', path, reason)])
}
