import type { RuleText } from 'sluice/internal/core/rules/load'
import { RulesError } from 'sluice/internal/core/rules/problems'
import { readRuleFiles } from 'sluice/internal/sources/rule-files'
import { SourceFault } from '../../sources/remote-source.ts'
import { awayError } from '../../sources/start.ts'
import type { Flags } from '../settings/flags.ts'
import { isPath, type RemoteRulesConfig, type RulesUrl, remoteRulesOf } from '../settings/remote-rules.ts'
import { SettingSources } from '../settings/setting-sources.ts'

/**
 * Reads rules once, from files, directories and addresses. Addresses are fetched as the service would fetch them, by
 * its variables. Throws a RulesError that names everything that cannot be read.
 */
export async function readRules(places: readonly string[], flags: Flags): Promise<readonly RuleText[]> {
  const paths = places.filter(isPath)
  const given = { values: places, where: 'rules', source: 'flag' } as const
  const files = paths.length === 0 ? [] : await readRuleFiles(paths)
  if (paths.length === places.length) return files
  const remote = remoteRulesOf(new SettingSources(flags, process.env), given, {})
  const read = await Promise.all(remote.urls.map((url) => readUrl(url, remote)))
  const errors = read.flatMap((each) => (each instanceof RulesError ? each.errors : []))
  if (errors.length > 0) throw new RulesError(errors)
  return [...files, ...read.flatMap((each) => (each instanceof RulesError ? [] : [each]))]
}

async function readUrl({ url, name }: RulesUrl, remote: RemoteRulesConfig): Promise<RuleText | RulesError> {
  const { fetchRules } = await import('../../sources/url/fetch-rules.ts')
  const { rulesTls } = await import('./rules-tls.ts')
  const { tokenOf } = await import('./rules-token.ts')
  try {
    const [token, secureContext] = [tokenOf(remote)(), rulesTls(remote.tls)()]
    const answer = await fetchRules({ url: new URL(url), timeoutMs: remote.timeoutMs, token, secureContext })
    return { file: name, text: answer?.text ?? '' }
  } catch (error) {
    if (error instanceof SourceFault) return awayError(name, error)
    throw error
  }
}
