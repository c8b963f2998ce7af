import { FLAGS } from '../app/config.ts'

const flagLines = FLAGS.map((spec) => {
  const { flag, env, fallback, text } = spec
  const left = 'value' in spec ? `--${flag} ${spec.value}` : `--${flag}`
  return `  ${left.padEnd(20)} ${text}\n${' '.repeat(23)}(${env}; default: ${fallback})`
})

/** HELP is what --help prints. */
export const HELP = `sluice: a distributed API rate limiter

Usage:
  sluice serve [flags]                     run the service: POST /v1/check, GET /healthcheck
  sluice check RULES…                      say whether rule files are right, and what they mean
  sluice explain RULES [--domain NAME] KEY=VALUE…
                                           show which rules apply to a descriptor, and why
  sluice --help                            this page
  sluice --version

Flags of serve (each also as an environment variable):
${flagLines.join('\n')}

check and explain take --merge-domains too. Rules are described in docs/rules.md, errors in docs/errors.md.
`
