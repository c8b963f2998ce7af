import { parseDuration } from 'sluice/internal/core/duration'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { ProxyTrust } from 'sluice/internal/core/identity/proxy-trust'
import type { FlagSpec, Flags } from '../../app/settings/flags.ts'
import { choiceOf } from '../../app/settings/setting-values.ts'
import { CALLER_GROUP, type Condition, parseCondition } from '../../simulate/report/conditions.ts'
import type { Mapping } from '../../simulate/requests/rule-requests.ts'
import type { SimulationOptions } from '../../simulate/simulation.ts'
import { FORMATS } from '../../simulate/traffic/formats.ts'

/** The flags that say how requests are made of lines. */
export const MAPPING_FLAGS = [
  { flag: 'format', value: 'FORMAT' },
  { flag: 'domain', value: 'NAME' },
  { flag: 'field', value: 'NAME=SOURCE' },
  { flag: 'entry', value: 'KEY=TEMPLATE' },
  { flag: 'descriptor', value: 'KEY,KEY' },
  { flag: 'without', value: 'KEY' },
  { flag: 'caller', value: 'KEY' },
  { flag: 'trusted-proxies', value: 'N|LIST' },
] as const satisfies readonly FlagSpec[]

/** The flags that say how lines are replayed. */
export const REPLAY_FLAGS = [
  { flag: 'out-of-order', value: 'TIME' },
  { flag: 'spread' },
  { flag: 'max-keys', value: 'N' },
] as const satisfies readonly FlagSpec[]

/** What is read where one of these is given: they are made of it. */
const MADE_OF: ReadonlyMap<string, string> = new Map([
  ['path', 'target'],
  ['ip', 'address'],
  ['remote_address', 'address'],
])

const DEFAULT_WINDOW = '10s'
const MOST_WINDOW_MS = 3_600_000
const DEFAULT_MAX_KEYS = 1_000_000
const DEFAULT_TOP = 20
const MOST_TOP = 10_000

export function conditionsOf(flags: Flags): readonly Condition[] {
  const conditions = flags.all('fail-if').map(parseCondition)
  const differs = conditions.find(({ metric }) => metric === 'lost' || metric === 'gained')
  if (differs === undefined || flags.has('against')) return conditions
  throw new SluiceError('FAIL_IF_INVALID', '--fail-if', `${got(differs.text)} without --against`)
}

export function mappingOf(flags: Flags, conditions: readonly Condition[]): Mapping {
  const groups = conditions.flatMap(({ group }) => (group === undefined || group === CALLER_GROUP ? [] : [group]))
  return {
    entries: new Map(flags.all('entry').map((text) => pairOf('entry', text))),
    descriptors: flags.all('descriptor').map((text) => text.split(',').map((key) => key.trim())),
    without: new Set(flags.all('without').flatMap((text) => text.split(','))),
    caller: flags.last('caller'),
    groups: [...new Set(groups)],
    trust: trustOf(flags.last('trusted-proxies')),
    hasCost: flags.all('field').some((text) => text.startsWith('cost=')),
  }
}

export function replayOptionsOf(
  flags: Flags,
  env: NodeJS.ProcessEnv,
): Pick<SimulationOptions, 'format' | 'sources' | 'windowMs' | 'isSpread' | 'maxKeys' | 'secret'> {
  const format = flags.last('format')
  const window = flags.last('out-of-order') ?? DEFAULT_WINDOW
  const windowMs = parseDuration(window, '--out-of-order')
  if (windowMs > MOST_WINDOW_MS)
    throw new SluiceError('DURATION_INVALID', '--out-of-order', `${got(window)}, more than 1h`)
  return {
    format:
      format === undefined ? undefined : choiceOf({ values: [format], where: '--format', source: 'flag' }, FORMATS),
    sources: new Map(
      flags.all('field').map((text) => {
        const [name, source] = pairOf('field', text)
        return [MADE_OF.get(name) ?? name, source]
      }),
    ),
    windowMs,
    isSpread: flags.isOn('spread'),
    maxKeys: numberOf(flags, 'max-keys', DEFAULT_MAX_KEYS, 2 ** 26),
    secret: env.SLUICE_SECRET || undefined,
  }
}

/** How many callers are listed. */
export function topOf(flags: Flags): number {
  return numberOf(flags, 'top', DEFAULT_TOP, MOST_TOP)
}

/** Reads a whole number from 1 on. */
export function numberOf(flags: Flags, flag: string, otherwise: number, most: number): number {
  const text = flags.last(flag)
  if (text === undefined) return otherwise
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= most) return value
  throw new SluiceError('SIMULATE_NUMBER_INVALID', `--${flag}`, `${got(text)}; at most ${most}`)
}

function pairOf(flag: string, text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw new SluiceError('ENTRY_INVALID', `--${flag}`, got(text))
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Reads how many proxies there are, or which. */
function trustOf(text: string | undefined): ProxyTrust | undefined {
  if (text === undefined) return undefined
  return new ProxyTrust({
    trustedProxies: /^[0-9]{1,3}$/.test(text) ? Number(text) : text.split(',').map((each) => each.trim()),
  })
}
