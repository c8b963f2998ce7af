import { describe, expect, it } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { readConfig } from './config.ts'
import { rulePlaces } from './remote-rules.ts'
import { secretsOf } from './secrets.ts'

const URL_RULE =
  'A rules address must begin with http:// or https://. Tokens and passwords are sent only over https, or to this machine.'

describe('rules at addresses', () => {
  it('are distinguished from files', () => {
    const config = readConfig(['--rules', 'a.yaml,https://h.example/r.yaml', '--rules', 'HTTPS://h.example/s'], {})
    expect(config.rules).toEqual(['a.yaml'])
    expect(config.remoteRules.urls).toEqual([
      { url: 'https://h.example/r.yaml', name: 'https://h.example/r.yaml' },
      { url: 'https://h.example/s', name: 'https://h.example/s' },
    ])
    expect(config.isExample).toBe(false)
  })

  it('are shown without users and queries, and each by its own name', () => {
    const config = readConfig(
      ['--rules', 'https://u:p%40ss@h.example/r?X-Amz-Signature=0123456789abcdef,https://h.example/r?v=2'],
      {},
    )
    expect(rulePlaces(config)).toEqual(['https://h.example/r?…', 'https://h.example/r?… (2)'])
    expect(secretsOf(config)).toEqual(
      expect.arrayContaining(['p%40ss', 'p@ss', '?X-Amz-Signature=0123456789abcdef', '0123456789abcdef']),
    )
  })

  it('are asked for every 30 seconds by default, and never more often than every second', () => {
    expect(readConfig([], {}).remoteRules).toMatchObject({ pollMs: 30_000, timeoutMs: 10_000, startsEmpty: false })
    const env = { SLUICE_RULES_POLL: '10ms', SLUICE_RULES_TIMEOUT: '0s', SLUICE_START_WITHOUT_RULES: 'true' }
    expect(readConfig([], env).remoteRules).toMatchObject({ pollMs: 1_000, timeoutMs: 100, startsEmpty: true })
  })

  it.each([
    [
      'http://rules.example/r',
      { SLUICE_RULES_TOKEN: 'abc' },
      'a token or password would be sent unencrypted to http://rules.example/r',
    ],
    ['http://u:hidden@rules.example/r', {}, 'a token or password would be sent unencrypted to http://rules.example/r'],
    ['http://[', {}, 'not an address'],
    ['https://', {}, 'not an address'],
  ])('are refused as %s with %j', (url, env, detail) => {
    expect(raisedBy(() => readConfig(['--rules', url], env))).toBe(`RULES_URL_INVALID: --rules: ${detail}. ${URL_RULE}`)
  })

  it('are shown a token that a header can hold', () => {
    expect(raisedBy(() => readConfig([], { SLUICE_RULES_TOKEN: 'a b' }))).toBe(
      `RULES_URL_INVALID: SLUICE_RULES_TOKEN: the token has a space or another character that a header cannot carry. ${URL_RULE}`,
    )
    const config = readConfig(['--rules', 'http://localhost:1/r', '--rules-token', 'a-token'], {})
    expect(config.remoteRules.token).toBe('a-token')
    expect(secretsOf(config)).toContain('a-token')
    expect(config.warnings).toEqual([])
  })

  it('are warned about where anybody on the way can change them', () => {
    expect(readConfig(['--rules', 'http://rules.example/r?v=1'], {}).warnings).toEqual([
      'rules come from http://rules.example/r?… without TLS: anybody on the way can change them',
    ])
  })

  it('take a certificate with its key', () => {
    const rule =
      'Give the certificate and the key together; a required client name also needs the certificate authority.'
    expect(raisedBy(() => readConfig(['--rules-cert', 'c'], {}))).toBe(
      `TLS_INCOMPLETE: --rules-cert: --rules-key is missing. ${rule}`,
    )
    expect(raisedBy(() => readConfig(['--rules-key', 'c'], {}))).toBe(
      `TLS_INCOMPLETE: --rules-key: --rules-cert is missing. ${rule}`,
    )
  })
})
