import { ENVOY_SETTINGS } from '../../server/src/app/settings/envoy-settings.ts'
import { SETTINGS, type SettingSpec } from '../../server/src/app/settings/settings.ts'

const ALL: readonly SettingSpec[] = SETTINGS
/** Variables of others that a program on Node.js reads. */
const OTHERS = new Set(['NODE_OPTIONS', 'OTEL_TRACES_EXPORTER', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_SERVICE_NAME'])
const KNOWN = new Set([
  ...ALL.flatMap(({ env, alias }) => (alias === undefined ? [env] : [env, alias])),
  ...ENVOY_SETTINGS.filter(({ status }) => status === 'same' || status === 'different').map(({ name }) => name),
  ...OTHERS,
])

/** Returns the names that would do nothing. */
export function unknownVariables(names: Iterable<string>): string[] {
  return [...names].filter((name) => !KNOWN.has(name))
}

/** Returns the row of a setting. */
export function settingOf(flag: string): SettingSpec {
  const found = ALL.find((each) => each.flag === flag)
  if (found === undefined) throw new Error(`there is no setting ${flag}`)
  return found
}

/** Reads a duration of whole seconds, such as 10s. */
export function secondsOf(text: string | undefined): number {
  const [, number] = /^(\d+)s$/.exec(text ?? '') ?? []
  if (number === undefined) throw new Error(`${text} is no number of seconds`)
  return Number(number)
}
