import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { HELP } from '../../server/src/cli/help.ts'
import { settingOf, unknownVariables } from '../deploy/settings-check.suite.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

describe.each(['deploy', 'aws', 'upgrade'])('docs/%s.md', (name) => {
  const page = read(`docs/${name}.md`)

  it('names files that there are', () => {
    const named = [...page.matchAll(/`((?:deploy|scripts|tests)\/[\w./-]+|Dockerfile|compose\.yaml)`/g)].map(
      ([, path]) => path,
    )
    for (const path of named) expect(existsSync(new URL(path, root)), path).toBe(true)
  })

  it('names variables that the service knows', () => {
    const named = [...page.matchAll(/\b((?:SLUICE|GRPC|REDIS|ADMIN|OTEL|DATABASE)_[A-Z_]+)\b/g)].map(
      ([, variable]) => variable,
    )
    expect(unknownVariables(new Set(named))).toEqual([])
  })

  it('has commands of ours that there are', () => {
    for (const [, command] of page.matchAll(/(?:`|\/bin\/)sluice ([a-z]+)\b/g)) {
      expect(HELP, command).toContain(`  sluice ${command}`)
    }
  })
})

describe('docs/deploy.md', () => {
  it('says of Kubernetes what the manifests say', () => {
    const page = read('docs/deploy.md')
    const deployment = read('deploy/kubernetes/base/deployment.yaml')
    const grace = /terminationGracePeriodSeconds: (\d+)/.exec(deployment)?.[1]
    const preStop = /sleep: { seconds: (\d+) }/.exec(deployment)?.[1]
    const [delay, timeout] = ['drain-delay', 'drain-timeout'].map((flag) => settingOf(flag).default?.replace('s', ''))
    expect(page).toContain(
      `| ${grace} | more than preStop (${preStop}), \`SLUICE_DRAIN_DELAY\` (${delay}) and \`SLUICE_DRAIN_TIMEOUT\` (${timeout}) together |`,
    )
    expect(page).toContain(`--max-old-space-size=${/--max-old-space-size=(\d+)/.exec(deployment)?.[1]}`)
  })
})
