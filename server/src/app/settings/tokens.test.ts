import { ERROR_RULES } from 'sluice/internal/core/error-rules'
import { describe, expect, it } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { readConfig } from './config.ts'
import { secretsOf } from './secrets.ts'

const TOKEN = 'abcdefghijklmnop'

describe('SLUICE_ADMIN_TOKEN', () => {
  it.each<[string, string, { role: string; token: string }[]]>([
    ['is an admin’s', TOKEN, [{ role: 'admin', token: TOKEN }]],
    ['may have a role', `viewer:${TOKEN}`, [{ role: 'viewer', token: TOKEN }]],
    [
      'may be several',
      `${TOKEN}, operator:${TOKEN}2`,
      [
        { role: 'admin', token: TOKEN },
        { role: 'operator', token: `${TOKEN}2` },
      ],
    ],
  ])('%s', (_, given, tokens) => {
    const config = readConfig([], { SLUICE_ADMIN_TOKEN: given })
    expect(config.adminTokens).toEqual(tokens)
    for (const { token } of tokens) expect(secretsOf(config)).toContain(token)
  })

  it.each([
    ['has another role', `root:${TOKEN}`, 'ADMIN_TOKEN_INVALID: SLUICE_ADMIN_TOKEN: a token has an unknown role'],
    ['has two', `admin:admin:${TOKEN}`, 'ADMIN_TOKEN_INVALID: SLUICE_ADMIN_TOKEN: a token has an unknown role'],
    ['is too short', 'viewer:short', 'TOKEN_INVALID: SLUICE_ADMIN_TOKEN: one has 5 characters'],
  ])('is refused, and not shown, when it %s', (_, given, message) => {
    expect(raisedBy(() => readConfig([], { SLUICE_ADMIN_TOKEN: given }))).toContain(message)
  })
})

describe('SLUICE_TOKEN', () => {
  it.each<[string, string[], Record<string, string>, string[]]>([
    ['is none by default', [], {}, []],
    ['is one', [], { SLUICE_TOKEN: TOKEN }, [TOKEN]],
    ['has an alias', [], { SLUICE_HTTP_TOKEN: TOKEN }, [TOKEN]],
    ['comes before its alias', [], { SLUICE_TOKEN: TOKEN, SLUICE_HTTP_TOKEN: 'another-of-sixteen' }, [TOKEN]],
    ['may be several', [], { SLUICE_TOKEN: `${TOKEN} , b+/c-._~b+/c-._~==` }, [TOKEN, 'b+/c-._~b+/c-._~==']],
    ['is a flag as well', [`--token=${TOKEN}`], {}, [TOKEN]],
  ])('%s', (_, args, env, tokens) => {
    expect(readConfig(args, env).tokens).toEqual(tokens)
  })

  it.each([
    ['is too short', 'secret-of-mine', 'one has 14 characters'],
    ['is too long', 'secret'.repeat(171), 'one has 1026 characters'],
    ['has a space', `${TOKEN} secret`, 'one has characters that no token may have'],
    ['has an equals sign in the middle', `${TOKEN}=secret`, 'one has characters that no token may have'],
    ['is a list with an empty one', `${TOKEN},`, 'one has 0 characters'],
  ])('is refused, and not shown, when it %s', (_, token, detail) => {
    expect(raisedBy(() => readConfig([], { SLUICE_TOKEN: token }))).toBe(
      `TOKEN_INVALID: SLUICE_TOKEN: ${detail}. ${ERROR_RULES.TOKEN_INVALID}`,
    )
  })

  it('is taken out of logs, each of several', () => {
    const config = readConfig([], { SLUICE_TOKEN: `${TOKEN},another-of-sixteen` })
    expect(secretsOf(config)).toEqual(expect.arrayContaining([TOKEN, 'another-of-sixteen']))
  })

  it('makes --trust-callers superfluous, which is said', () => {
    expect(readConfig(['--trust-callers'], { SLUICE_TOKEN: TOKEN }).warnings).toEqual([
      '--trust-callers has no effect: SLUICE_TOKEN is set, and callers that send the token are trusted',
    ])
    expect(readConfig(['--trust-callers'], {}).warnings).toEqual([])
  })
})
