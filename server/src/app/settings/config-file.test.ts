import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { readConfig } from './config.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-config-'))
afterAll(() => rmSync(dir, { recursive: true }))

let count = 0
function fileOf(text: string): string {
  const file = join(dir, `${count++}.yaml`)
  writeFileSync(file, text)
  return file
}

const INVALID = 'A config file must be YAML with one setting per line, such as "http_port: 8080".'
const KEYS = 'Settings in a config file have the names of the flags in --help, with _ instead of -.'

describe('the config file', () => {
  it.each<[string, string, object]>([
    ['is read', 'http_port: 1\nhost: "::1"\n', { httpPort: 1, host: '::1' }],
    ['may be empty', '', { httpPort: 8080 }],
    ['may hold comments only', '# nothing\n', { httpPort: 8080 }],
    ['takes a list of rules', 'rules:\n  - a\n  - b\n', { rules: ['a', 'b'] }],
    ['takes rules with commas', 'rules: a, b\n', { rules: ['a', 'b'] }],
    [
      'takes switches as YAML writes them',
      'merge_domains: true\nshadow_mode: false',
      { mergeDomains: true, shadowMode: false },
    ],
    ['takes durations', 'drain_delay: 5s\n', { drainDelayMs: 5_000 }],
    ['takes a setting without a value as not given', 'http_port:\nhost: ~\n', { httpPort: 8080, host: '0.0.0.0' }],
  ])('%s', (_, text, expected) => {
    expect(readConfig(['--config', fileOf(text)], {})).toMatchObject(expected)
    expect(readConfig([], { SLUICE_CONFIG: fileOf(text) })).toMatchObject(expected)
  })

  it('comes behind variables, and those behind flags', () => {
    const file = fileOf('http_port: 1\nadmin_port: 1\ngrpc_port: 1\n')
    const config = readConfig(['--config', file, '--http-port', '3'], { PORT: '2', DEBUG_PORT: '2' })
    expect([config.httpPort, config.adminPort, config.grpc.port]).toEqual([3, 2, 1])
  })

  it.each<[string, string, string]>([
    [
      'an unknown setting',
      'host: a\nhttp_prot: 1\n',
      `CONFIG_KEY_UNKNOWN: FILE:2: got "http_prot", did you mean "http_port"? ${KEYS}`,
    ],
    [
      'a flag as it is written there',
      'http-port: 1\n',
      `CONFIG_KEY_UNKNOWN: FILE:1: got "http-port", did you mean "http_port"? ${KEYS}`,
    ],
    ['a file that names a file', 'config: a\n', `CONFIG_KEY_UNKNOWN: FILE:1: got "config". ${KEYS}`],
    ['a name that every object has', '__proto__: 1\n', `CONFIG_KEY_UNKNOWN: FILE:1: got "__proto__". ${KEYS}`],
    ['a setting twice', 'host: a\nhost: b\n', `CONFIG_INVALID: FILE:2: Map keys must be unique. ${INVALID}`],
    ['a list where a value belongs', 'host:\n  - a\n', `CONFIG_INVALID: FILE:1: host: got a list. ${INVALID}`],
    ['a map where a value belongs', 'host: { a: 1 }\n', `CONFIG_INVALID: FILE:1: host: got an object. ${INVALID}`],
    ['an empty text', 'host: ""\n', `CONFIG_INVALID: FILE:1: host: got "". ${INVALID}`],
    ['a text of spaces', 'secret: "  "\n', `CONFIG_INVALID: FILE:1: secret: got "  ". ${INVALID}`],
    ['no rules at all', 'rules: []\n', `CONFIG_INVALID: FILE:1: rules: got an empty list. ${INVALID}`],
    ['an empty name among rules', 'rules: [a, ""]\n', `CONFIG_INVALID: FILE:1: rules: got "". ${INVALID}`],
    ['a list of lists of rules', 'rules: [[a]]\n', `CONFIG_INVALID: FILE:1: rules: got a list. ${INVALID}`],
    ['a list', '- host\n', `CONFIG_INVALID: FILE: the file is not a map of settings. ${INVALID}`],
    ['a text', 'host\n', `CONFIG_INVALID: FILE: the file is not a map of settings. ${INVALID}`],
    [
      'a wrong value',
      'host: a\nhttp_port: http\n',
      'PORT_INVALID: FILE:2: http_port: got "http". A port must be a whole number from 0 to 65535; 0 picks a free one.',
    ],
  ])('refuses %s', (_, text, message) => {
    const file = fileOf(text)
    expect(raisedBy(() => readConfig(['--config', file], {})).replace(file, 'FILE')).toBe(message)
  })

  it('says where it is not YAML', () => {
    const file = fileOf('host: a\nrules: [a\n')
    expect(raisedBy(() => readConfig(['--config', file], {}))).toMatch(
      /^CONFIG_INVALID: .*:\d: .+\. A config file must be YAML/,
    )
  })

  it('has to be there', () => {
    expect(raisedBy(() => readConfig(['--config', 'none.yaml'], {}))).toBe(
      'FILE_UNREADABLE: none.yaml: the file does not exist (ENOENT). The file must exist, and the user of this process must be able to read it.',
    )
  })

  it('never shows a secret in an error', () => {
    const file = fileOf('secret: { hunter2: 1 }\n')
    expect(raisedBy(() => readConfig(['--config', file], {}))).not.toContain('hunter2')
  })
})
