import { readFileSync } from 'node:fs'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { didYouMean } from 'sluice/internal/core/nearest'
import { isMap, isScalar, isSeq, yamlPackage } from 'sluice/internal/core/rules/yaml-package'
import type { Given } from './setting-values.ts'
import { fileKey, SETTINGS } from './settings.ts'

/** The settings that a file may hold, by the name they have there. A file cannot name itself. */
const BY_KEY: ReadonlyMap<string, string> = new Map(
  SETTINGS.filter(({ flag }) => flag !== 'config').map(({ flag }) => [fileKey(flag), flag]),
)

/** Reads the settings in a YAML file, each with the line it stands on. */
export function readConfigFile(file: string): ReadonlyMap<string, Given> {
  const { LineCounter, parseDocument } = yamlPackage()
  const lines = new LineCounter()
  const document = parseDocument(textOf(file), { lineCounter: lines, prettyErrors: false, maxAliasCount: 0 } as object)
  const placeOf = (offset: number | undefined): string => `${file}:${lines.linePos(offset ?? 0).line}`
  const [problem] = document.errors
  if (problem !== undefined) throw new SluiceError('CONFIG_INVALID', placeOf(problem.pos[0]), problem.message)
  const settings = new Map<string, Given>()
  if (document.contents === null) return settings
  if (!isMap(document.contents)) throw new SluiceError('CONFIG_INVALID', file, 'the file is not a map of settings')
  for (const { key, value } of document.contents.items) {
    const name = String(isScalar(key) ? key.value : key)
    const where = `${placeOf(isScalar(key) ? key.range?.[0] : undefined)}: ${name}`
    const flag = BY_KEY.get(name)
    if (flag === undefined) {
      const detail = `got ${JSON.stringify(name)}${didYouMean(name, BY_KEY.keys())}`
      throw new SluiceError('CONFIG_KEY_UNKNOWN', where.slice(0, where.lastIndexOf(`: ${name}`)), detail)
    }
    const values = valuesOf(value, flag, where)
    if (values !== undefined) settings.set(flag, { values, where, source: 'file' })
  }
  return settings
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SluiceError(
      'FILE_UNREADABLE',
      file,
      code === 'ENOENT' ? 'the file does not exist (ENOENT)' : String(code),
    )
  }
}

/** Formats a value as a flag would have it. A setting without a value counts as not set. */
function valuesOf(node: unknown, flag: string, where: string): string[] | undefined {
  if (node === null || (isScalar(node) && node.value === null)) return undefined
  const isList = isSeq(node) && flag === 'rules'
  const values = (isList ? node.items : [node]).map((item) => (isScalar(item) ? String(item.value ?? '') : undefined))
  if (values.length === 0) throw new SluiceError('CONFIG_INVALID', where, 'got an empty list')
  return values.map((value) => {
    if (value === undefined)
      throw new SluiceError('CONFIG_INVALID', where, isSeq(node) ? 'got a list' : 'got an object')
    if (value.trim() === '') throw new SluiceError('CONFIG_INVALID', where, got(value))
    return value
  })
}
