import type { Config } from './config.ts'
import { credentialsOf } from './redis-settings.ts'

/** secretsOf lists every text of the configuration that nobody may read in a log. */
export function secretsOf(config: Config): string[] {
  const { secret, leaseSecret, redisUrl, redisSentinelAuth, auditKafka } = config
  const tokens = [...config.tokens, ...config.adminTokens.map(({ token }) => token)]
  const [, credentials = ''] = /:\/\/(?:([^/]*)@)?/.exec(redisUrl ?? '') ?? []
  return [
    secret,
    leaseSecret,
    decoded(credentials.slice(credentials.indexOf(':') + 1)),
    redisSentinelAuth,
    auditKafka?.sasl?.password,
    ...tokens,
  ]
    .flatMap((text) => (text === undefined ? [] : [text, credentialsOf(text).password]))
    .filter((text) => text !== '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
