import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ERROR_RULES } from 'sluice/internal/core/error-rules'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { readConfig } from './config.ts'
import { ENVOY_SETTINGS } from './envoy-settings.ts'
import { SettingSources, variablesOf } from './setting-sources.ts'
import { fileKey, SETTINGS, type SettingName, type SettingSpec } from './settings.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-settings-'))
afterAll(() => rmSync(dir, { recursive: true }))

const settings: readonly SettingSpec[] = SETTINGS
const inFile = settings.filter(({ flag }) => flag !== 'config')

/** Reads a config file with one line. */
function withFile(line: string): string {
  const file = join(dir, 'sluice.yaml')
  writeFileSync(file, `${line}\n`)
  return raisedBy(() => readConfig(['--config', file], {})).replace(file, 'FILE')
}

/** Swaps two letters in the middle of a name, or doubles one. */
function misspelled(name: string): string {
  const at = Math.floor(name.length / 2)
  const [a, b] = [name[at - 1], name[at]]
  return name.slice(0, at - 1) + (a === b ? a + a + b : b + a) + name.slice(at + 1)
}

/** Some settings are read only where others are set. */
const READING_EVERYTHING: readonly string[][] = [[], ['--grpc-tls', '--grpc-tls-cert', 'a', '--grpc-tls-key', 'b']]

describe('SETTINGS', () => {
  it('names each flag, variable and key once', () => {
    for (const names of [
      settings.map(({ flag }) => flag),
      SETTINGS.flatMap(({ flag }) => variablesOf(flag)),
      settings.map(({ flag }) => fileKey(flag)),
    ]) {
      expect(new Set(names).size).toBe(names.length)
    }
  })

  it('says of each what it is when no one gives it', () => {
    expect(settings.filter((each) => (each.default === undefined) === (each.unset === undefined))).toEqual([])
  })

  it('has a value for all but switches, and choices for settings with choices', () => {
    expect(settings.filter(({ kind, value }) => (kind === 'switch') !== (value === undefined))).toEqual([])
    expect(settings.filter(({ kind, choices }) => /choice|level/.test(kind) !== (choices !== undefined))).toEqual([])
  })

  it('has no setting that no code reads', () => {
    const read = vi.spyOn(SettingSources.prototype, 'given')
    onTestFinished(() => read.mockRestore())
    for (const args of READING_EVERYTHING) readConfig(args, {})
    const names = new Set(read.mock.calls.map(([name]) => name))
    expect(settings.filter(({ flag }) => !names.has(flag as SettingName)).map(({ flag }) => flag)).toEqual([])
  })

  it('has every setting that a variable of envoyproxy/ratelimit sets', () => {
    const sets = ENVOY_SETTINGS.flatMap(({ sets }) => sets ?? [])
    expect(sets.filter((flag) => !settings.some((each) => each.flag === flag))).toEqual([])
  })
})

describe('a setting that is misspelled', () => {
  it.each(settings)('is found behind a flag: --$flag', ({ flag }) => {
    const wrong = misspelled(flag)
    expect(raisedBy(() => readConfig([`--${wrong}=1`], {}))).toBe(
      `FLAG_UNKNOWN: serve: got "--${wrong}", did you mean "--${flag}"? ${ERROR_RULES.FLAG_UNKNOWN}`,
    )
  })

  it.each(inFile)('is found in the config file: $flag', ({ flag }) => {
    const wrong = misspelled(fileKey(flag))
    expect(withFile(`${wrong}: 1`)).toBe(
      `CONFIG_KEY_UNKNOWN: FILE:1: got "${wrong}", did you mean "${fileKey(flag)}"? ${ERROR_RULES.CONFIG_KEY_UNKNOWN}`,
    )
  })

  // Shorter names belong to many programs.
  const variables = SETTINGS.flatMap(({ flag }) => variablesOf(flag)).filter((name) => name.length >= 6)

  it.each(variables.filter((name) => !name.startsWith('SLUICE_')))('is found among variables: %s', (name) => {
    expect(readConfig([], { [misspelled(name)]: '1' }).warnings).toEqual([
      `${misspelled(name)} is not a setting, did you mean ${name}?`,
    ])
  })

  it.each(variables.filter((name) => name.startsWith('SLUICE_')))('is refused among our own variables: %s', (name) => {
    expect(raisedBy(() => readConfig([], { [misspelled(name)]: 'a secret' }))).toBe(
      `VARIABLE_UNKNOWN: ${misspelled(name)}: did you mean ${name}? ${ERROR_RULES.VARIABLE_UNKNOWN}`,
    )
  })

  it('is reported where nothing is near', () => {
    expect(readConfig([], { SLUICE_COLOUR_OF_THE_BIKESHED: '1' }).warnings).toEqual([
      'SLUICE_COLOUR_OF_THE_BIKESHED is not a setting',
    ])
  })

  it.each([
    ['SLUICE_PORT', 'tcp://10.0.0.1:80'],
    ['SLUICE_PORT_8081_TCP', 'tcp://10.0.0.1:8081'],
    ['SLUICE_PORT_8081_TCP_PROTO', 'tcp'],
    ['SLUICE_SERVICE_HOST', '10.0.0.1'],
    ['SLUICE_SERVICE_PORT_GRPC', '8081'],
    ['SLUICE_REDIS_SERVICE_HOST', '10.0.0.2'],
    ['SLUICE_REDIS_PORT', 'tcp://10.0.0.2:6379'],
  ])('is not suspected behind %s of Kubernetes', (name, value) => {
    expect(readConfig([], { [name]: value }).warnings).toEqual([])
  })

  it.each([
    'HOSTNAME',
    'POST',
    'REDIS_PORT',
    'REDIS_HOST',
    'LOG_LEVELS_OF_OTHERS',
    'GRPC_VERBOSITY',
    'NODE_ENV',
    'PATH',
  ])('is not suspected behind %s', (name) => {
    expect(readConfig([], { [name]: '1' }).warnings).toEqual([])
  })
})

describe('an empty text', () => {
  it.each(settings.filter(({ kind }) => kind !== 'switch'))('is refused as a flag: --$flag', ({ flag }) => {
    const message = `FLAG_VALUE_MISSING: --${flag}: no value. ${ERROR_RULES.FLAG_VALUE_MISSING}`
    expect(raisedBy(() => readConfig([`--${flag}=`], {}))).toBe(message)
    expect(raisedBy(() => readConfig([`--${flag}`, ''], {}))).toBe(message)
  })

  it.each(inFile)('is refused in the config file: $flag', ({ flag }) => {
    expect(withFile(`${fileKey(flag)}: ""`)).toBe(
      `CONFIG_INVALID: FILE:1: ${fileKey(flag)}: got "". ${ERROR_RULES.CONFIG_INVALID}`,
    )
  })

  it.each(SETTINGS)('is as good as none in a variable: $env', ({ flag }) => {
    const env = Object.fromEntries(variablesOf(flag).map((name) => [name, '']))
    expect({ ...readConfig([], env), leaseSecret: '' }).toEqual({ ...readConfig([], {}), leaseSecret: '' })
  })
})

describe('a value of another type', () => {
  // A text takes every value, and what is wrong with an address of Redis or a file is told by those that use it.
  const typed = settings.filter(({ kind }) => kind !== 'text' && kind !== 'paths')

  it.each(typed)('is refused, with its place: $flag', ({ flag, env }) => {
    for (const value of ['a b', '[]']) {
      expect(raisedBy(() => readConfig([`--${flag}=${value}`], {}))).toMatch(
        new RegExp(`^[A-Z_]+_(INVALID|TOO_LONG): --${flag}: got `),
      )
      expect(raisedBy(() => readConfig([], { [env]: value }))).toMatch(new RegExp(`^[A-Z_]+_INVALID: ${env}: got `))
    }
    expect(withFile(`${fileKey(flag)}: a b`)).toMatch(
      new RegExp(`^[A-Z_]+_INVALID: FILE:1: ${fileKey(flag)}: got "a b"`),
    )
  })

  it.each(inFile.filter(({ kind }) => kind !== 'paths'))('is refused as a list or a map: $flag', ({ flag }) => {
    expect(withFile(`${fileKey(flag)}: [1]`)).toContain(`${fileKey(flag)}: got a list`)
    expect(withFile(`${fileKey(flag)}: { a: 1 }`)).toContain(`${fileKey(flag)}: got an object`)
  })
})
