import { SluiceError } from 'sluice/internal/core/errors'
import { nearest } from 'sluice/internal/core/nearest'
import { ENVOY_SETTINGS, UNREAD_VARIABLES } from './envoy-settings.ts'
import { variablesOf } from './setting-sources.ts'
import { SETTINGS } from './settings.ts'

type Env = NodeJS.ProcessEnv

const PREFIX = 'SLUICE_'
const KNOWN: ReadonlySet<string> = new Set([
  ...SETTINGS.flatMap(({ flag }) => variablesOf(flag)),
  ...[...ENVOY_SETTINGS, ...UNREAD_VARIABLES].map(({ name }) => name),
])
/** The gateway checks its variables where it reads them. */
const OF_GATEWAY = /^SLUICE_GATEWAY_/
const OURS = [...KNOWN].filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length))
/** Variables are set for other programs too: only a long name that is nearly the same was meant for us. */
const LONG = byLetters([...KNOWN].filter((name) => name.length >= 6))
/** What Kubernetes sets in every pod if there is a service whose name begins with sluice. */
const OF_KUBERNETES =
  /^SLUICE_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/

/** Throws for a variable that is nearly one of ours: a typo must not switch off what it was to set. */
export function refuseMisspelled(env: Env): void {
  for (const name of strangers(env)) {
    const meant = meantBy(name)
    if (meant?.startsWith(PREFIX)) throw new SluiceError('VARIABLE_UNKNOWN', name, `did you mean ${meant}?`)
  }
}

/** Warns of other variables that look like ours. No error: they may be meant for other programs. */
export function misspelledVariables(env: Env): string[] {
  return strangers(env).flatMap((name) => {
    if (name.startsWith(PREFIX)) return [`${name} is not a setting`]
    const meant = meantBy(name)
    return meant === undefined ? [] : [`${name} is not a setting, did you mean ${meant}?`]
  })
}

function meantBy(name: string): string | undefined {
  if (!name.startsWith(PREFIX)) return nearest(name, aboutAsLong(name), 1)
  const meant = nearest(name.slice(PREFIX.length), OURS)
  return meant && PREFIX + meant
}

function byLetters(names: readonly string[]): ReadonlyMap<number, readonly string[]> {
  const groups = new Map<number, string[]>()
  for (const name of names) groups.set(lettersOf(name), [...(groups.get(lettersOf(name)) ?? []), name])
  return groups
}

/** Returns the names that one edit may lead to: few of the many, which all are compared at every start. */
function aboutAsLong(name: string): string[] {
  const letters = lettersOf(name)
  return [letters - 1, letters, letters + 1].flatMap((count) => LONG.get(count) ?? [])
}

/** Returns the length of a name as `nearest` compares it. */
function lettersOf(name: string): number {
  return name.replaceAll(/[-_]/g, '').length
}

function strangers(env: Env): string[] {
  return Object.keys(env).filter(
    (name) => !KNOWN.has(name) && env[name] !== '' && !OF_KUBERNETES.test(name) && !OF_GATEWAY.test(name),
  )
}
