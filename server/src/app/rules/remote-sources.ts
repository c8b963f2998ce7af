import { join } from 'node:path'
import { loadRules } from 'sluice/internal/core/rules/load'
import { KeptRules } from '../../sources/kept-rules.ts'
import type { RemoteSource, SourceEvents } from '../../sources/remote-source.ts'
import type { StartOptions } from '../../sources/start.ts'
import { UrlSource } from '../../sources/url/url-source.ts'
import type { Log } from '../log/log.ts'
import { compileOptionsOf } from '../settings/compatibility.ts'
import type { Config } from '../settings/config.ts'
import { rulesTls } from './rules-tls.ts'
import { tokenOf } from './rules-token.ts'

type RulesConfig = Pick<Config, 'remoteRules' | 'dataDir' | 'mergeDomains' | 'compatibility'>

/** openRemoteSources makes the sources of rules at addresses. Nothing is asked yet. */
export function openRemoteSources(config: RulesConfig, log: Log): readonly RemoteSource[] {
  const { remoteRules } = config
  const { urls, pollMs, timeoutMs } = remoteRules
  const [start, secureContext] = [startOptionsOf(config, log), rulesTls(remoteRules.tls)]
  const token = tokenOf(remoteRules)
  return urls.map(
    ({ url, name }) => new UrlSource({ ...start, name, url: new URL(url), pollMs, timeoutMs, token, secureContext }),
  )
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
    kept: (source, atMs, reason) =>
      log.warn('rules.kept', `the rules of ${source} are those of ${new Date(atMs).toISOString()}:\n${reason}`, {
        source,
      }),
    empty: (source, reason) =>
      log.warn('rules.none_yet', `there are no rules of ${source} yet, and nothing of them is limited:\n${reason}`, {
        source,
      }),
  }
}
