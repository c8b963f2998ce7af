import { describe, expect, it } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { parseFlags } from './flags.ts'

const SPECS = [{ flag: 'name', value: 'NAME', env: 'TOWN' }, { flag: 'port', value: 'PORT' }, { flag: 'quick' }]
const parse = (...args: string[]) => parseFlags('try', SPECS, args)

const FLAG_RULE = 'Run the command with --help to list its flags.'
const VALUE_RULE = 'Give the value as --flag VALUE or --flag=VALUE.'
const SWITCH_RULE = 'A switch must be true or false.'

describe('parseFlags', () => {
  it('finds nothing on an empty command line', () => {
    const flags = parse()
    expect([flags.all('name'), flags.last('name'), flags.has('name'), flags.isOn('quick')]).toEqual([
      [],
      undefined,
      false,
      false,
    ])
    expect(flags.rest).toEqual([])
  })

  it.each<[string, string[], string[]]>([
    ['after a space', ['--name', 'a'], ['a']],
    ['after an equals sign', ['--name=a'], ['a']],
    ['with an equals sign in it', ['--name=a=b'], ['a=b']],
    ['that looks like a flag', ['--name', '--port'], ['--port']],
    ['that starts with a dash', ['--name=-1'], ['-1']],
    ['of several words', ['--name', 'POST /orders'], ['POST /orders']],
    ['several times, in order', ['--name', 'b', '--port=1', '--name=a'], ['b', 'a']],
  ])('reads a value %s', (_, args, expected) => {
    expect(parse(...args).all('name')).toEqual(expected)
    expect(parse(...args).last('name')).toBe(expected.at(-1))
  })

  it('distinguishes arguments from flags, wherever they stand', () => {
    const flags = parse('rules', '--quick', 'user=42', '--name', 'a', 'b c', '-', '--', '--port', '-x')
    expect(flags.rest).toEqual(['rules', 'user=42', 'b c', '-', '--port', '-x'])
    expect([flags.isOn('quick'), flags.last('name'), flags.has('port')]).toEqual([true, 'a', false])
  })

  it.each<[string, boolean]>([
    ['--quick', true],
    ['--quick=true', true],
    ['--quick=1', true],
    ['--quick=false', false],
    ['--quick=0', false],
  ])('takes the switch %s for %s', (argument, expected) => {
    expect(parse(argument).isOn('quick')).toBe(expected)
  })

  it('takes the last of a switch given twice', () => {
    expect(parse('--quick', '--quick=false').isOn('quick')).toBe(false)
  })

  it.each([
    ['--quick=yes', '"yes"'],
    ['--quick=', '""'],
    ['--quick=TRUE', '"TRUE"'],
  ])('refuses the switch %s', (argument, value) => {
    expect(raisedBy(() => parse(argument).isOn('quick'))).toBe(`SWITCH_INVALID: --quick: got ${value}. ${SWITCH_RULE}`)
  })

  it.each<[string, string[], string]>([
    ['an unknown flag', ['--nmae', 'a'], `FLAG_UNKNOWN: try: got "--nmae", did you mean "--name"? ${FLAG_RULE}`],
    [
      'an unknown flag with a value',
      ['--nmae=a'],
      `FLAG_UNKNOWN: try: got "--nmae", did you mean "--name"? ${FLAG_RULE}`,
    ],
    ['a flag in another case', ['--Name', 'a'], `FLAG_UNKNOWN: try: got "--Name", did you mean "--name"? ${FLAG_RULE}`],
    [
      'a flag named like the variable of another',
      ['--town', 'a'],
      `FLAG_UNKNOWN: try: got "--town", did you mean "--name"? ${FLAG_RULE}`,
    ],
    ['a short flag', ['-n', 'a'], `FLAG_UNKNOWN: try: got "-n". ${FLAG_RULE}`],
    [
      'a switch with no- before it',
      ['--no-quick'],
      `FLAG_UNKNOWN: try: got "--no-quick", did you mean "--quick"? ${FLAG_RULE}`,
    ],
    [
      'a flag named like a part of an object',
      ['--constructor'],
      `FLAG_UNKNOWN: try: got "--constructor". ${FLAG_RULE}`,
    ],
    ['a flag at the end without its value', ['--name'], `FLAG_VALUE_MISSING: --name: no value. ${VALUE_RULE}`],
    ['an empty value', ['--name='], `FLAG_VALUE_MISSING: --name: no value. ${VALUE_RULE}`],
    ['an empty value after a space', ['--name', ''], `FLAG_VALUE_MISSING: --name: no value. ${VALUE_RULE}`],
  ])('refuses %s', (_, args, message) => {
    expect(raisedBy(() => parse(...args))).toBe(message)
  })
})
