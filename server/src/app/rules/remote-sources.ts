import { join } from 'node:path'
import type { SecureContext } from 'node:tls'
import { loadRules, type RuleInput } from 'sluice/internal/core/rules/load'
import { ThreadLoader } from 'sluice/internal/sources/thread-loader'
import { KeptRules } from '../../sources/kept-rules.ts'
import type { RemoteSource, SourceEvents } from '../../sources/remote-source.ts'
import type { StartOptions } from '../../sources/start.ts'
import { UrlSource } from '../../sources/url/url-source.ts'
import { XdsSource } from '../../sources/xds/xds-source.ts'
import type { Log } from '../log/log.ts'
import { compileOptionsOf } from '../settings/compatibility.ts'
import type { Config } from '../settings/config.ts'
import type { XdsConfig } from '../settings/xds-settings.ts'
import { rulesTls } from './rules-tls.ts'
import { tokenOf } from './rules-token.ts'

type RulesConfig = Pick<Config, 'remoteRules' | 'dataDir' | 'mergeDomains' | 'compatibility'>

/** Makes the sources of rules at addresses. Nothing is fetched yet. */
export function openRemoteSources(config: RulesConfig, log: Log): readonly RemoteSource[] {
  const { remoteRules } = config
  const { urls, pollMs, timeoutMs } = remoteRules
  const [start, secureContext] = [startOptionsOf(config, log), rulesTls(remoteRules.tls)]
  const token = tokenOf(remoteRules)
  const ofUrls = urls.map(
    ({ url, name }) => new UrlSource({ ...start, name, url: new URL(url), pollMs, timeoutMs, token, secureContext }),
  )
  return remoteRules.xds === undefined
    ? ofUrls
    : [...ofUrls, xdsSource(config, remoteRules.xds, { ...start, secureContext })]
}

type Shared = StartOptions & { secureContext(): SecureContext | undefined }

function xdsSource(config: RulesConfig, xds: XdsConfig, { secureContext, ...start }: Shared): XdsSource {
  const { isTls, serverName, ...options } = xds
  return new XdsSource({
    ...start,
    ...options,
    timeoutMs: config.remoteRules.timeoutMs,
    ...(isTls && { tls: () => ({ secureContext: secureContext(), serverName }) }),
    explain: explainerOf(config),
  })
}

/** Explains what is wrong with rules that were refused, in a separate thread. */
function explainerOf({ mergeDomains, compatibility }: RulesConfig): (inputs: readonly RuleInput[]) => Promise<string> {
  const loader = new ThreadLoader()
  return async (inputs) => {
    try {
      await loader.load(inputs, compileOptionsOf(mergeDomains, compatibility))
      return 'it is valid alone, but contradicts other rules in force'
    } catch (error) {
      return (error as Error).message
    }
  }
}

function startOptionsOf({ remoteRules, dataDir, mergeDomains, compatibility }: RulesConfig, log: Log): StartOptions {
  return {
    kept: dataDir === undefined ? undefined : new KeptRules(join(dataDir, 'rules')),
    startsEmpty: remoteRules.startsEmpty,
    check: (inputs) => void loadRules(inputs, compileOptionsOf(mergeDomains, compatibility)),
    events: eventsTo(log),
  }
}

function eventsTo(log: Log): SourceEvents {
  return {
    away: (source, reason) =>
      log.warn('rules.away', `no rules from ${source}: ${reason}; the last good ones stay in force`, {
        source,
        reason,
      }),
    back: (source) => log.info('rules.back', `${source} can be read again`, { source }),
    waiting: (source, reason) =>
      log.warn('rules.waiting', `the start waits for rules from ${source}:\n${reason}`, { source, reason }),
    kept: (source, atMs, reason) =>
      log.warn('rules.kept', `the rules of ${source} are from ${new Date(atMs).toISOString()}:\n${reason}`, {
        source,
      }),
    empty: (source, reason) =>
      log.warn('rules.none_yet', `there are no rules of ${source} yet, and nothing of them is limited:\n${reason}`, {
        source,
      }),
  }
}
