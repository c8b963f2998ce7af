import { nearest } from 'sluice/internal/core/nearest'
import { ENVOY_SETTINGS } from './envoy-settings.ts'
import { variablesOf } from './setting-sources.ts'
import { SETTINGS } from './settings.ts'

const PREFIX = 'SLUICE_'
const KNOWN: ReadonlySet<string> = new Set([
  ...SETTINGS.flatMap(({ flag }) => variablesOf(flag)),
  ...ENVOY_SETTINGS.map(({ name }) => name),
])
const OURS = [...KNOWN].filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length))
/** Variables are set for other programs too: only what is long, and nearly the same, was meant for us. */
const LONG = [...KNOWN].filter((name) => name.length >= 6)

/** misspelledVariables warns of variables that look like ours. No error: Kubernetes sets SLUICE_PORT for a service. */
export function misspelledVariables(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env)
    .filter((name) => !KNOWN.has(name) && env[name] !== '')
    .flatMap((name) => {
      const meant = meantBy(name)
      return meant === undefined ? [] : [`${name} is not a setting, did you mean ${meant}?`]
    })
}

function meantBy(name: string): string | undefined {
  if (!name.startsWith(PREFIX)) return nearest(name, LONG, 1)
  const meant = nearest(name.slice(PREFIX.length), OURS)
  return meant && PREFIX + meant
}
