import { plural, summary } from '../app/plural.ts'
import type { Config } from '../app/settings/config.ts'
import { packageVersion } from '../app/settings/package-file.ts'
import { rulePlaces } from '../app/settings/remote-rules.ts'
import type { Service } from '../app/wire.ts'

/** The last lines that a greeting may have: what comes after them is the log. */
export const LAST_LINES = {
  examples: 'Your own rules: --rules FILE. All settings: --help. Ctrl-C stops it.',
  rules: 'Changed rules are reloaded automatically; SIGHUP reloads them immediately.',
}

/** Returns where the service is and what it runs on; with the example rules, also what to try. */
export function greeting(service: Service, config: Config): string {
  const { isExample, workers } = config
  const from = isExample ? 'the examples (server/examples)' : fromOf(config)
  const processes = workers > 1 ? `${plural(workers, 'worker')}; ` : ''
  return `sluice ${packageVersion()} is listening
${doorLines(service).join('\n')}

dashboard  http://${service.addresses.admin}/  ${loginText(config)}
${processes}counters ${service.storeName}; ${summary(service.rules())}, from ${from}
${customersLine(config)}${isExample ? `${thingsToTry(service, config)}${LAST_LINES.examples}` : LAST_LINES.rules}
`
}

/** Describes which token to log in with, as far as that is known before the database is open. */
function loginText({ database, adminTokens, firstTokenFile }: Config): string {
  if (adminTokens.length > 0) return 'log in with a token of SLUICE_ADMIN_TOKEN'
  if (database === undefined) return 'this machine may look without a token'
  const first = firstTokenFile === undefined ? 'made by `sluice token create`' : `in ${firstTokenFile}`
  return `log in with a token; the first one is ${first}`
}

/** Returns where customers are kept. A database in a directory takes seconds to start, and what it says comes below. */
function customersLine({ database }: Config): string {
  if (database === undefined) return ''
  const where = 'url' in database ? 'in PostgreSQL' : `in ${database.dataDir}, which is being opened`
  return `customers ${where} (docs/quotas.md)\n`
}

const WIDTH = 'http://localhost:12345'.length

function fromOf(config: Config): string {
  const { gateway } = config
  return [...(gateway === undefined ? [] : [gateway.file ?? 'the command line']), ...rulePlaces(config)].join(', ')
}

function doorLines({ addresses }: Service): string[] {
  const { grpc, http, admin, gateway } = addresses
  const adminLine = `  admin  ${`http://${admin}`.padEnd(WIDTH)}  /metrics, /stats, /rlconfig, /admin/v1`
  if (gateway !== undefined) return [`  gateway  ${gateway}`, adminLine]
  return [
    `  gRPC   ${grpc.padEnd(WIDTH)}  Envoy's rate limit service, health, sluice.v1.Limiter and Ledger`,
    `  HTTP   ${`http://${http}`.padEnd(WIDTH)}  /v1/check, /v1/acquire, /v1/renew, /v1/release, /json, /healthcheck`,
    adminLine,
  ]
}

/** Commands that work as they stand; where there is a token, in a shell that knows it too. */
function thingsToTry({ addresses }: Service, { tokens, database, statsOpen }: Config): string {
  const http = `http://${addresses.http}`
  const json = "-H 'Content-Type: application/json'"
  const token = tokens.length > 0 ? ' -H "Authorization: Bearer $SLUICE_TOKEN"' : ''
  const check = `curl -i ${json}${token} -d '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":"alice"}]}]}' ${http}/v1/check`
  return `
Four things to try in another terminal:

  1. Ask whether alice may pass. She has 5 a minute:
     ${check}

  2. Ask six more times. The last ones are answered 429, with Retry-After and the reason:
     for i in 1 2 3 4 5 6; do ${check}; done

  3. Ask whether her next request would pass, without spending any (cost 0):
     ${check.replace('}]}]}', '}]}],"cost":0}')}

  4. Ask in the words of Envoy's rate limit service, and see what was counted:
     ${check.replace('curl -i', 'curl').replace('/v1/check', '/json')}
     curl${database !== undefined && !statsOpen ? ' -H "Authorization: Bearer $SLUICE_ADMIN_TOKEN"' : ''} http://${addresses.admin}/stats

Envoy: name ${addresses.grpc} as its rate limit service, docs/migrate-from-envoy-ratelimit.md.
`
}
