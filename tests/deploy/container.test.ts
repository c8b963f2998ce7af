import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { SETTINGS } from '../../server/src/app/settings/settings.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { ROOT } from './image-tree.suite.ts'
import { unknownVariables } from './settings-check.suite.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const defaultOf = (flag: string): string | undefined =>
  (SETTINGS as readonly { flag: string; default?: string }[]).find((each) => each.flag === flag)?.default

describe('the Dockerfile', () => {
  const stages = read('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split(/^(?=FROM )/m)
    .filter((stage) => stage.startsWith('FROM'))
  const [build, final] = stages
  const linesOf = (stage: string, word: string): string[] =>
    stage.split('\n').flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1).trim()] : []))

  it('has two stages: one that builds on any machine, and one without a shell', () => {
    expect(stages).toHaveLength(2)
    expect(build).toMatch(/^FROM --platform=\$BUILDPLATFORM node:24-/)
    expect(final).toMatch(/^FROM gcr\.io\/distroless\/nodejs24-debian13:nonroot\n/)
    expect(linesOf(final, 'RUN')).toEqual([])
  })

  it('copies what rootfs.sh makes, and nothing else', () => {
    expect(linesOf(build, 'RUN').at(-1)).toBe('deploy/image/rootfs.sh /rootfs')
    expect(linesOf(final, 'COPY')).toEqual([
      '--from=build /rootfs/app /app',
      '--from=build /rootfs/bin/ratelimit /bin/ratelimit',
      '--from=build /rootfs/bin/sluice /bin/sluice',
    ])
  })

  it('copies the manifest of every package before it installs', () => {
    const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] }
    for (const workspace of workspaces.filter((each) => each !== '.')) {
      expect(build).toContain(`COPY ${workspace}/package.json ${workspace}/\n`)
    }
  })

  it('runs as an unprivileged user, and gets signals itself', () => {
    expect(linesOf(final, 'USER')).toEqual(['65532:65532'])
    expect(linesOf(final, 'ENTRYPOINT').map((text) => JSON.parse(text))).toEqual([['/bin/ratelimit']])
    expect(linesOf(final, 'STOPSIGNAL')).toEqual(['SIGTERM'])
    expect(linesOf(final, 'HEALTHCHECK')[0]).toMatch(/ CMD \["\/bin\/sluice", "health"\]$/)
  })

  it('exposes the ports that the service has', () => {
    const ports = ['http-port', 'grpc-port', 'admin-port'].map(defaultOf)
    expect(linesOf(final, 'EXPOSE')).toEqual([ports.join(' ')])
  })

  it('has the version of the packages', () => {
    expect(final).toContain(`ARG VERSION=${JSON.parse(read('package.json')).version}\n`)
  })

  it('is not sent what it must not have, and is sent all that it copies', () => {
    const ignored = read('.dockerignore').split('\n')
    expect(ignored).toEqual(expect.arrayContaining(['.git', '**/node_modules', '.env']))
    for (const needed of ['deploy', 'scripts', 'src', 'server', 'schema', 'LICENSE', 'README.md', 'CHANGELOG.md']) {
      expect(ignored).not.toContain(needed)
    }
  })
})

interface ComposeService {
  readonly image: string
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { condition: string }>>
  readonly healthcheck?: object
  readonly read_only?: boolean
}

describe('compose.yaml', () => {
  const { services, volumes } = parse(read('compose.yaml')) as {
    services: Record<string, ComposeService>
    volumes: Record<string, unknown>
  }

  it('has everything that an evaluation needs', () => {
    expect(Object.keys(services).sort()).toEqual([
      ...['api', 'envoy', 'grafana', 'postgres', 'prometheus', 'redis', 'sluice'],
    ])
  })

  it('mounts files that exist, for reading', () => {
    const mounts = Object.values(services).flatMap((service) => service.volumes ?? [])
    const files = mounts.filter((mount) => mount.startsWith('.'))
    expect(files.length).toBeGreaterThan(6)
    for (const mount of files) {
      const [from, , mode] = mount.split(':')
      expect([mount, existsSync(join(ROOT, from)), mode]).toEqual([mount, true, 'ro'])
    }
    const named = mounts.filter((mount) => !mount.startsWith('.')).map((mount) => mount.split(':')[0])
    expect(named).toEqual(Object.keys(volumes))
  })

  it('waits for services that exist, and for health only of services that have a check', () => {
    for (const { depends_on = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        expect(services).toHaveProperty(name)
        // That of sluice is in its image.
        if (condition === 'service_healthy' && name !== 'sluice') expect(services[name].healthcheck).toBeDefined()
      }
    }
  })

  it('accepts no connections from other machines', () => {
    for (const { ports = [] } of Object.values(services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
    }
  })

  it('passes the service only what it understands, and it would start', () => {
    const environment = services.sluice.environment ?? {}
    expect(unknownVariables(Object.keys(environment))).toEqual([])
    const filled = Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/\$\{\w+:-([^}]*)\}/g, '$1'),
    ])
    const config = readConfig([], Object.fromEntries(filled))
    expect(config).toMatchObject({ workers: 2, adminHost: '0.0.0.0', adminNames: ['sluice'], metricsOpen: true })
    expect(config.adminTokens).toHaveLength(1)
  })

  it('mounts the rules where the service looks for them, and they are right', () => {
    const { environment = {}, volumes: mounts = [] } = services.sluice
    expect(mounts).toContain(`./deploy/compose/rules:${environment.SLUICE_RULES}:ro`)
    const rules = loadRules([{ file: 'api.yaml', text: read('deploy/compose/rules/api.yaml') }])
    expect([...rules.domains.keys()]).toEqual(['api'])
  })

  it('has an Envoy that asks the service about what the rules know', () => {
    const envoy = read('deploy/compose/envoy.yaml')
    expect(() => parse(envoy)).not.toThrow()
    expect(envoy).toContain(`address: sluice, port_value: ${defaultOf('grpc-port')}`)
    expect(envoy).toContain('domain: api\n')
    const rules = parse(read('deploy/compose/rules/api.yaml')) as { descriptors: { key: string }[] }
    for (const { key } of rules.descriptors)
      expect(envoy).toMatch(new RegExp(`descriptor_key: ${key}\\b|{ ${key}: {} }`))
    const api = read('deploy/compose/api.mjs')
    expect(envoy).toContain(`address: api, port_value: ${/listen\((\d+)\)/.exec(api)?.[1]}`)
  })

  it('has a Prometheus that reads the admin port by the name that it answers to', () => {
    const config = parse(read('deploy/compose/prometheus.yml')) as {
      rule_files: string[]
      scrape_configs: { static_configs: { targets: string[] }[] }[]
    }
    const name = services.sluice.environment?.SLUICE_ADMIN_NAMES
    expect(config.scrape_configs[0].static_configs[0].targets).toEqual([`${name}:${defaultOf('admin-port')}`])
    for (const file of config.rule_files) {
      expect(services.prometheus.volumes).toContain(`./deploy/prometheus/${file}:/etc/prometheus/${file}:ro`)
    }
    expect(() =>
      execFileSync('promtool', ['check', 'rules', 'rules.yml', 'alerts.yml'], { cwd: join(ROOT, 'deploy/prometheus') }),
    ).not.toThrow()
  })

  it('has dashboards where Grafana is configured to look for them', () => {
    const { providers } = parse(read('deploy/compose/grafana/dashboards.yaml')) as {
      providers: { options: { path: string } }[]
    }
    expect(services.grafana.volumes).toContain(`./deploy/grafana:${providers[0].options.path}:ro`)
  })
})
