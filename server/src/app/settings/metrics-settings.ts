import type { SettingSources } from './setting-sources.ts'
import { type Address, isSwitchedOn, lastOf } from './setting-values.ts'

type Env = NodeJS.ProcessEnv

export interface MetricsConfig {
  readonly isOn: boolean
  /** How many rules have separate series. */
  readonly maxRules: number
  /** Where they are served in addition to the admin port. */
  readonly place: (Address & { readonly path: string }) | undefined
}

/** Where counts are sent, and how: over TCP, or over UDP with tags that DogStatsD understands. */
export interface StatsdConfig {
  readonly host: string
  readonly port: number
  readonly isDog: boolean
  readonly intervalMs: number
  readonly tags: Readonly<Record<string, string>>
}

const MAX_RULES = 1_000

export function metricsOf(from: SettingSources): MetricsConfig {
  const path = from.value('prometheus-path')
  const place = { ...from.value('prometheus-address'), path: path.startsWith('/') ? path : `/${path}` }
  return {
    isOn: from.value('metrics') === 'on',
    maxRules: from.value('metrics-max-rules') ?? MAX_RULES,
    place: from.value('prometheus') ? place : undefined,
  }
}

/**
 * Returns where counts are sent. In envoyproxy/ratelimit StatsD is on by default; here it is off unless it is switched
 * on or its host is set.
 */
export function statsdOf(from: SettingSources, env: Env): StatsdConfig | undefined {
  const isDog = from.value('dog-statsd')
  const isWanted = from.given('statsd') === undefined ? from.given('statsd-host') !== undefined : from.value('statsd')
  const config = {
    host: from.value('statsd-host') ?? 'localhost',
    port: statsdPortOf(from),
    isDog,
    // Without a pause, nothing else would run.
    intervalMs: Math.max(MIN_STATSD_MS, from.value('statsd-interval')),
    tags: from.value('statsd-tags') ?? {},
  }
  return (isWanted || isDog) && !isSwitchedOn(env, 'DISABLE_STATS') ? config : undefined
}

/** Ignores what Kubernetes sets if there is a service named statsd: an address. */
function statsdPortOf(from: SettingSources): number {
  const given = from.given('statsd-port')
  const isLink = given?.source === 'env' && lastOf(given).startsWith('tcp://')
  return isLink ? STATSD_PORT : from.value('statsd-port')
}

const STATSD_PORT = 8_125

const MIN_STATSD_MS = 100
