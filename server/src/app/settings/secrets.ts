import type { Config } from './config.ts'
import { credentialsOf } from './redis-settings.ts'
import { secretsOfRemoteRules } from './remote-rules.ts'

/** Lists every text of the configuration that must not appear in a log. */
export function secretsOf(config: Config): string[] {
  const { secret, leaseSecret, redisUrl, database, redisSentinelAuth, auditKafka } = config
  const tokens = [...config.tokens, ...config.adminTokens.map(({ token }) => token)]
  const addresses = [
    redisUrl,
    ...(database !== undefined && 'url' in database ? [database.url, database.listenUrl] : []),
  ]
  return [secret, leaseSecret, ...addresses.map(passwordOf), redisSentinelAuth, auditKafka?.sasl?.password, ...tokens]
    .flatMap((text) => (text === undefined ? [] : [text, credentialsOf(text).password]))
    .concat(secretsOfRemoteRules(config.remoteRules))
    .filter((text) => text !== '')
}

/** Returns the password of an address, in each form that may appear. */
function passwordOf(address: string | undefined): string {
  const [, credentials = ''] = /:\/\/(?:([^/]*)@)?/.exec(address ?? '') ?? []
  return decoded(credentials.slice(credentials.indexOf(':') + 1))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
