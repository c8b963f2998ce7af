import { fileURLToPath } from 'node:url'
import { got, SluiceError } from '../core/errors.ts'
import { type Flags, parseFlags, switchOf } from './flags.ts'

/** A Config is everything `sluice serve` can be told. */
export interface Config {
  readonly host: string
  readonly httpPort: number
  /** Rule files, and directories of them. */
  readonly rules: readonly string[]
  /** The rules are the examples that come with the package. */
  readonly isExample: boolean
  readonly mergeDomains: boolean
  /** Where counters are shared. Undefined: they live in this process. */
  readonly redisUrl: string | undefined
  /** Keys the hashes that all nodes agree on. */
  readonly secret: string | undefined
}

/** FLAGS is the one list of what can be told, as flag and as environment variable; `--help` is printed from it. */
export const FLAGS = [
  {
    flag: 'rules',
    env: 'SLUICE_RULES',
    value: 'FILE|DIR',
    fallback: 'the examples',
    text: 'rules: a file, or a directory of them; several: repeat the flag, or use commas',
  },
  {
    flag: 'merge-domains',
    env: 'SLUICE_MERGE_DOMAINS',
    fallback: 'no',
    text: 'files of the same domain make one set of rules',
  },
  {
    flag: 'redis',
    env: 'REDIS_URL',
    value: 'URL',
    fallback: 'counters in memory',
    text: 'share counters through Redis: redis://, rediss://, redis+sentinel://, redis+cluster://',
  },
  {
    flag: 'secret',
    env: 'SLUICE_SECRET',
    value: 'TEXT',
    fallback: 'none',
    text: 'with Redis: the same text on every node; better given as a variable',
  },
  { flag: 'host', env: 'HOST', value: 'ADDRESS', fallback: '0.0.0.0', text: 'address to listen on' },
  {
    flag: 'http-port',
    env: 'PORT',
    value: 'PORT',
    fallback: '8080',
    text: 'port of the HTTP door; 0 picks a free one',
  },
] as const

type FlagName = (typeof FLAGS)[number]['flag']

/** A Setting is what was given, and where. */
interface Setting {
  readonly values: readonly string[]
  readonly where: string
}

/** readConfig takes each setting from the flag, else the environment, else its default. */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv): Config {
  const flags = parseFlags('serve', FLAGS, args)
  if (flags.rest.length > 0) throw new SluiceError('FLAG_UNKNOWN', 'serve', got(flags.rest[0]))
  const setting = (name: FlagName): Setting | undefined => settingOf(name, flags, env)
  const rules = setting('rules')
  const mergeDomains = setting('merge-domains')
  return {
    host: setting('host')?.values.at(-1) ?? '0.0.0.0',
    httpPort: port(setting('http-port') ?? { values: ['8080'], where: '--http-port' }),
    rules: rules === undefined ? [exampleRules()] : pathsOf(rules),
    isExample: rules === undefined,
    redisUrl: setting('redis')?.values.at(-1),
    secret: setting('secret')?.values.at(-1),
    mergeDomains: mergeDomains !== undefined && switchOf(mergeDomains.values.at(-1) ?? '', mergeDomains.where),
  }
}

function settingOf(name: FlagName, flags: Flags, env: NodeJS.ProcessEnv): Setting | undefined {
  if (flags.has(name)) return { values: flags.all(name), where: `--${name}` }
  const { env: variable } = FLAGS.find(({ flag }) => flag === name) as (typeof FLAGS)[number]
  const value = env[variable]
  return value === undefined || value === '' ? undefined : { values: [value], where: variable }
}

function pathsOf({ values, where }: Setting): string[] {
  const paths = values.flatMap((list) => list.split(',')).map((path) => path.trim())
  const given = paths.filter((path) => path !== '')
  if (given.length === 0) throw new SluiceError('FLAG_VALUE_MISSING', where, 'no value')
  return given
}

function port({ values, where }: Setting): number {
  const value = values.at(-1) ?? ''
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw new SluiceError('FLAG_INVALID', where, got(value))
  return Number(value)
}

function exampleRules(): string {
  return fileURLToPath(new URL('../../examples/rules', import.meta.url))
}
