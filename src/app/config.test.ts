import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { FLAGS, readConfig } from './config.ts'

const FLAG_RULE = 'flags are listed by --help'
const PORT_RULE = 'a port is a whole number from 0 to 65535, and 0 picks a free one'
const SWITCH_RULE = 'a switch is true or false'
const VALUE_RULE = 'a flag is followed by its value, as in --flag VALUE or --flag=VALUE'

const EXAMPLES = fileURLToPath(new URL('../../examples/rules', import.meta.url))

function messageOf(args: string[], env: Record<string, string> = {}): string {
  try {
    return JSON.stringify(readConfig(args, env))
  } catch (error) {
    return (error as Error).message
  }
}

describe('readConfig', () => {
  it.each<[string, string[], Record<string, string>, object]>([
    ['has defaults', [], {}, { host: '0.0.0.0', httpPort: 8080 }],
    ['reads flags', ['--host', '::1', '--http-port', '0'], {}, { host: '::1', httpPort: 0 }],
    ['reads flags with an equals sign', ['--host=::1', '--http-port=65535'], {}, { host: '::1', httpPort: 65_535 }],
    ['reads the environment', [], { HOST: '10.0.0.1', PORT: '9000' }, { host: '10.0.0.1', httpPort: 9000 }],
    ['prefers a flag to the environment', ['--http-port', '1'], { PORT: '2' }, { httpPort: 1 }],
    ['does not look at a variable that a flag overrides', ['--http-port', '1'], { PORT: 'none' }, { httpPort: 1 }],
    ['takes an empty variable as not given', [], { HOST: '', PORT: '' }, { host: '0.0.0.0', httpPort: 8080 }],
    ['takes the last of a flag given twice', ['--http-port', '1', '--http-port', '2'], {}, { httpPort: 2 }],
    ['runs on the examples without rules', [], {}, { rules: [EXAMPLES], isExample: true, mergeDomains: false }],
    ['does so for an empty variable', [], { SLUICE_RULES: '' }, { rules: [EXAMPLES], isExample: true }],
    ['reads where the rules are', ['--rules', 'a.yaml'], {}, { rules: ['a.yaml'], isExample: false }],
    ['reads it from the environment', [], { SLUICE_RULES: '/etc/rules' }, { rules: ['/etc/rules'], isExample: false }],
    ['takes every --rules', ['--rules', 'b', '--rules=a'], {}, { rules: ['b', 'a'] }],
    ['takes a list of rules', ['--rules', 'b,a', '--rules', 'c d'], {}, { rules: ['b', 'a', 'c d'] }],
    ['takes a list from the environment', [], { SLUICE_RULES: 'b, a,' }, { rules: ['b', 'a'] }],
    ['does not add the variable to the flag', ['--rules', 'a'], { SLUICE_RULES: 'b' }, { rules: ['a'] }],
    ['merges domains when told', ['--merge-domains'], {}, { mergeDomains: true }],
    ['merges domains by the environment', [], { SLUICE_MERGE_DOMAINS: 'true' }, { mergeDomains: true }],
    ['reads 1 as true', [], { SLUICE_MERGE_DOMAINS: '1' }, { mergeDomains: true }],
    ['reads 0 as false', [], { SLUICE_MERGE_DOMAINS: '0' }, { mergeDomains: false }],
    ['takes an empty switch as not given', [], { SLUICE_MERGE_DOMAINS: '' }, { mergeDomains: false }],
    ['lets a flag switch off', ['--merge-domains=false'], { SLUICE_MERGE_DOMAINS: '1' }, { mergeDomains: false }],
  ])('%s', (_, args, env, expected) => {
    expect(readConfig(args, env)).toMatchObject(expected)
  })

  it.each<[string, string[], string]>([
    ['an unknown flag', ['--prot', '1'], `FLAG_UNKNOWN: serve: got "--prot"; ${FLAG_RULE}`],
    ['an unknown flag with a value', ['--prot=1'], `FLAG_UNKNOWN: serve: got "--prot"; ${FLAG_RULE}`],
    ['a short flag', ['-p', '1'], `FLAG_UNKNOWN: serve: got "-p"; ${FLAG_RULE}`],
    [
      'a flag named like a part of an object',
      ['--__proto__', '1'],
      `FLAG_UNKNOWN: serve: got "--__proto__"; ${FLAG_RULE}`,
    ],
    ['a flag of several lines', ['--a\nb'], `FLAG_UNKNOWN: serve: got "--a\\nb"; ${FLAG_RULE}`],
    ['an argument', ['8080'], `FLAG_UNKNOWN: serve: got "8080"; ${FLAG_RULE}`],
    ['an argument after --', ['--', '8080'], `FLAG_UNKNOWN: serve: got "8080"; ${FLAG_RULE}`],
    ['a flag without its value', ['--http-port'], `FLAG_VALUE_MISSING: --http-port: no value; ${VALUE_RULE}`],
    ['a flag with an empty value', ['--host='], `FLAG_VALUE_MISSING: --host: no value; ${VALUE_RULE}`],
    ['rules without a name', ['--rules', ','], `FLAG_VALUE_MISSING: --rules: no value; ${VALUE_RULE}`],
    ['a switch that is neither', ['--merge-domains=no'], `SWITCH_INVALID: --merge-domains: got "no"; ${SWITCH_RULE}`],
    ['a flag in place of a value', ['--http-port', '--host'], `FLAG_INVALID: --http-port: got "--host"; ${PORT_RULE}`],
  ])('refuses %s', (_, args, message) => {
    expect(messageOf(args)).toBe(message)
  })

  it.each(['-1', '65536', '1.5', '0x50', '1e3', ' 80', '80a', 'http', '99999999999'])(
    'refuses the port "%s"',
    (port) => {
      expect(messageOf(['--http-port', port])).toBe(`FLAG_INVALID: --http-port: got "${port}"; ${PORT_RULE}`)
      expect(messageOf([], { PORT: port })).toBe(`FLAG_INVALID: PORT: got "${port}"; ${PORT_RULE}`)
    },
  )
})

describe('readConfig, from the environment', () => {
  it.each<[string, Record<string, string>, string]>([
    ['a switch', { SLUICE_MERGE_DOMAINS: 'on' }, `SWITCH_INVALID: SLUICE_MERGE_DOMAINS: got "on"; ${SWITCH_RULE}`],
    ['rules', { SLUICE_RULES: ' , ' }, `FLAG_VALUE_MISSING: SLUICE_RULES: no value; ${VALUE_RULE}`],
  ])('names the variable of %s that is wrong', (_, env, message) => {
    expect(messageOf([], env)).toBe(message)
  })
})

describe('FLAGS', () => {
  it('names each flag and each variable once', () => {
    expect(new Set(FLAGS.map(({ flag }) => flag)).size).toBe(FLAGS.length)
    expect(new Set(FLAGS.map(({ env }) => env)).size).toBe(FLAGS.length)
  })
})
