import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { kubernetesFiles } from '../../scripts/kubernetes.mjs'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { loadRules } from '../../src/core/rules/load.ts'
import { chartValues, render } from './helm-render.suite.ts'
import { ROOT } from './image-tree.suite.ts'
import { secondsOf, settingOf, unknownVariables } from './settings-check.suite.ts'

const KUBERNETES = join(ROOT, 'deploy/kubernetes')
const MONITORED = { monitoring: { enabled: true, interval: '5s' }, dashboards: { enabled: true } }
const SECRETS = {
  REDIS_URL: 'redis://redis:6379',
  SLUICE_SECRET: 'a secret',
  SLUICE_ADMIN_TOKEN: 'a-token-of-an-admin-0123456789',
}

// Manifests are looked at where they are of interest; a path that is not there fails the expectation.
type Manifest = { kind: string; metadata: { name: string; labels?: Labels; namespace?: string } } & Record<string, Tree>
type Labels = Readonly<Record<string, string>>
interface Tree {
  readonly [name: string]: Tree
}

const listOf = (tree: Tree | undefined): readonly Tree[] => (tree ?? []) as readonly unknown[] as readonly Tree[]

const documents = (path: string): Manifest[] => {
  const found = parseAllDocuments(readFileSync(path, 'utf8'), { uniqueKeys: true })
  expect(found.flatMap((each) => each.errors)).toEqual([])
  return found.map((each) => each.toJS() as Manifest).filter((each) => each !== null)
}

/** Returns what a kustomization lists, with what it builds on, before patches. */
function built(folder: string): Manifest[] {
  const { resources = [], components = [] } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as {
    resources?: string[]
    components?: string[]
  }
  return [...resources, ...components].flatMap((entry) => {
    const path = join(folder, entry)
    return statSync(path).isDirectory() ? built(path) : documents(path)
  })
}

const all = (manifests: readonly Manifest[], kind: string): Manifest[] => manifests.filter((each) => each.kind === kind)
const only = (manifests: readonly Manifest[], kind: string): Manifest => {
  expect(all(manifests, kind).map(({ metadata }) => metadata.name)).toHaveLength(1)
  return all(manifests, kind)[0]
}
const containerOf = (deployment: Manifest): Tree => deployment.spec.template.spec.containers[0]

/** Returns the variables of the container that are no secret. */
function variablesOf(manifests: readonly Manifest[]): Record<string, string> {
  const container = containerOf(deploymentOf(manifests))
  const maps = listOf(container.envFrom).flatMap((source) => {
    const name = source.configMapRef?.name
    if (name === undefined) return []
    const map = all(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === String(name))
    if (map === undefined) throw new Error(`there is no ConfigMap ${name}`)
    return [map.data]
  })
  const listed = listOf(container.env).map(({ name, value }) => [name, value])
  return { ...Object.assign({}, ...maps), ...Object.fromEntries(listed) }
}
const deploymentOf = (manifests: readonly Manifest[]): Manifest =>
  all(manifests, 'Deployment').filter(({ metadata }) => metadata.name !== 'redis')[0]

const SETS: [name: string, manifests: () => Manifest[], labels: Labels][] = [
  [
    'the base with monitoring',
    () => built(join(KUBERNETES, 'overlays/production')),
    { 'app.kubernetes.io/name': 'sluice' },
  ],
  [
    'the chart',
    () => render({ ...MONITORED, secret: { existing: '', values: SECRETS } }) as Manifest[],
    { 'app.kubernetes.io/name': 'sluice', 'app.kubernetes.io/instance': 'limits' },
  ],
]

describe.each(SETS)('%s', (_, load, labels) => {
  const manifests = load()
  const deployment = deploymentOf(manifests)
  const pod = deployment.spec.template.spec
  const container = containerOf(deployment)
  const ports = Object.fromEntries(listOf(container.ports).map(({ name, containerPort }) => [name, containerPort]))

  it('has everything that a service in production needs, each name once', () => {
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
    for (const { metadata } of manifests) expect(metadata.name).toMatch(/^[a-z][a-z-]*$/)
    for (const kind of [
      ...['Deployment', 'Service', 'HorizontalPodAutoscaler', 'PodDisruptionBudget', 'NetworkPolicy'],
      ...['ServiceAccount', 'ServiceMonitor', 'PrometheusRule', 'ConfigMap'],
    ]) {
      expect(all(manifests, kind).length, kind).toBeGreaterThan(0)
    }
  })

  it('opens the ports that the service has', () => {
    for (const [port, flag] of [
      ['http', 'http-port'],
      ['grpc', 'grpc-port'],
      ['admin', 'admin-port'],
    ] as const) {
      expect(String(ports[port])).toBe(settingOf(flag).default)
    }
  })

  it('has services that lead to ports of the container, in plain HTTP/2 for gRPC', () => {
    for (const { spec } of all(manifests, 'Service')) {
      expect(spec.selector).toEqual(labels)
      for (const { name, port, targetPort, appProtocol } of listOf(spec.ports)) {
        expect(ports[String(targetPort)]).toBe(port)
        expect(appProtocol).toBe(String(name) === 'grpc' ? 'kubernetes.io/h2c' : 'http')
      }
    }
    const headless = all(manifests, 'Service').filter(({ spec }) => String(spec.clusterIP) === 'None')
    expect(headless).toHaveLength(1)
  })

  it('selects the pods that it makes, everywhere', () => {
    expect(deployment.spec.selector.matchLabels).toEqual(labels)
    expect(deployment.spec.template.metadata.labels).toMatchObject(labels)
    expect(only(manifests, 'PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels)
    expect(only(manifests, 'NetworkPolicy').spec.podSelector.matchLabels).toEqual(labels)
    for (const spread of listOf(pod.topologySpreadConstraints)) {
      expect(spread.labelSelector.matchLabels).toEqual(labels)
      expect(spread.matchLabelKeys).toEqual(['pod-template-hash'])
    }
    expect(only(manifests, 'HorizontalPodAutoscaler').spec.scaleTargetRef).toMatchObject({
      kind: 'Deployment',
      name: deployment.metadata.name,
    })
    expect(deployment.spec.replicas).toBeUndefined()
  })

  it('asks probes that the service answers, on ports by their right names', () => {
    expect(container.startupProbe.grpc.port).toBe(ports.grpc)
    expect(container.livenessProbe.httpGet).toEqual({ path: '/livez', port: 'admin' })
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admin' })
  })

  it('waits for the end of the drain', () => {
    const variables = variablesOf(manifests)
    const drain = ['drain-delay', 'drain-timeout'].map((flag) => {
      const { env, default: usual } = settingOf(flag)
      return secondsOf(variables[env] ?? usual)
    })
    const preStop = Number(container.lifecycle.preStop.sleep.seconds)
    expect(preStop).toBeGreaterThanOrEqual(5)
    expect(Number(pod.terminationGracePeriodSeconds)).toBeGreaterThan(preStop + drain[0] + drain[1])
  })

  it('keeps to the restricted standard of pod security', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(pod.automountServiceAccountToken).toBe(false)
    expect(pod.serviceAccountName).toBe(only(manifests, 'ServiceAccount').metadata.name)
  })

  it('passes the service only what it understands, and it would start', () => {
    const variables = variablesOf(manifests)
    expect(unknownVariables(Object.keys(variables))).toEqual([])
    const config = readConfig([], { ...variables, ...SECRETS })
    expect(config).toMatchObject({ workers: 2, adminHost: '0.0.0.0', metricsOpen: true, rules: ['/etc/sluice/rules'] })
    expect(config.grpc.maxConnectionAgeMs).toBe(300_000)
  })

  it('leaves every process its heap: together they are below the limit of memory', () => {
    const { SLUICE_WORKERS, NODE_OPTIONS } = variablesOf(manifests)
    const heap = Number(/^--max-old-space-size=(\d+)$/.exec(NODE_OPTIONS)?.[1])
    expect(heap).toBeGreaterThanOrEqual(256)
    expect(container.resources.limits.memory).toBe('1Gi')
    expect((Number(SLUICE_WORKERS) + 1) * heap).toBeLessThan(1024)
    expect(container.resources.requests.cpu).toBe(SLUICE_WORKERS)
  })

  it('mounts the folder of the rules, which are right', () => {
    const [volume] = listOf(pod.volumes)
    const rules = all(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === String(volume.configMap.name))
    expect(container.volumeMounts).toEqual([{ name: volume.name, mountPath: '/etc/sluice/rules', readOnly: true }])
    const texts = Object.entries(rules?.data ?? {}).map(([file, text]) => ({ file, text: String(text) }))
    expect(loadRules(texts).ruleCount).toBe(2)
  })

  it('lets callers reach the doors, and only monitoring the admin port', () => {
    const { ingress, policyTypes } = only(manifests, 'NetworkPolicy').spec
    expect(policyTypes).toEqual(['Ingress', 'Egress'])
    const open = listOf(ingress).map((rule) => listOf(rule.ports).map(({ port }) => String(port)))
    expect(open).toEqual([['grpc', 'http'], ['admin']])
    for (const rule of listOf(ingress)) expect(rule.from).toHaveLength(1)
    for (const name of open.flat()) expect(ports).toHaveProperty(name)
  })

  it('is read by Prometheus at the admin port of every pod', () => {
    const { selector, endpoints, jobLabel } = only(manifests, 'ServiceMonitor').spec
    const services = all(manifests, 'Service').filter(({ metadata }) =>
      Object.entries(selector.matchLabels).every(([name, value]) => metadata.labels?.[name] === String(value)),
    )
    expect(services).toHaveLength(1)
    expect(services[0].spec.ports).toContainEqual(expect.objectContaining({ name: endpoints[0].port }))
    expect(endpoints[0].path).toBe('/metrics')
    expect(services[0].metadata.labels?.[String(jobLabel)]).toBe('sluice')
  })

  it('has all rules and alerts, and all dashboards', () => {
    const own = ['rules.yml', 'alerts.yml'].flatMap(
      (file) => (parse(readFileSync(join(ROOT, 'deploy/prometheus', file), 'utf8')) as { groups: unknown[] }).groups,
    )
    expect(only(manifests, 'PrometheusRule').spec.groups).toEqual(own)
    const maps = all(manifests, 'ConfigMap').filter(({ metadata }) => metadata.labels?.grafana_dashboard === '1')
    const files = readdirSync(join(ROOT, 'deploy/grafana')).filter((name) => name.endsWith('.json'))
    const shown = Object.assign({}, ...maps.map(({ data }) => data)) as Record<string, string>
    expect(Object.keys(shown).sort()).toEqual(files.map((name) => `sluice-${name}`).sort())
    for (const name of files) {
      expect(JSON.parse(shown[`sluice-${name}`])).toEqual(
        JSON.parse(readFileSync(join(ROOT, 'deploy/grafana', name), 'utf8')),
      )
    }
  })
})

describe('deploy/kubernetes', () => {
  it('has what scripts/kubernetes.mjs writes, unchanged', () => {
    for (const [path, text] of kubernetesFiles()) expect(readFileSync(join(ROOT, path), 'utf8'), path).toBe(text)
  })

  it.each(['overlays/development', 'overlays/production', 'components/scale-on-decisions'])(
    '%s patches and names what is there',
    (folder) => {
      const kustomization = parse(readFileSync(join(KUBERNETES, folder, 'kustomization.yaml'), 'utf8')) as {
        patches?: { path: string }[]
        images?: { name: string }[]
      }
      const base = [...built(join(KUBERNETES, folder)), ...built(join(KUBERNETES, 'base'))]
      for (const { path } of kustomization.patches ?? []) {
        const [{ kind, metadata }] = documents(join(KUBERNETES, folder, path))
        expect(base.map((each) => `${each.kind} ${each.metadata.name}`)).toContain(`${kind} ${metadata.name}`)
      }
      for (const { name } of kustomization.images ?? []) {
        expect(containerOf(deploymentOf(base)).image).toMatch(new RegExp(`^${name}:`))
      }
    },
  )

  it('has patches for development that set variables of the service', () => {
    const [{ spec }] = documents(join(KUBERNETES, 'overlays/development/small.yaml'))
    const names = listOf(spec.template.spec.containers[0].env).map(({ name }) => String(name))
    expect(unknownVariables(names)).toEqual([])
  })

  it('has an example for Envoy Gateway that is a configuration of it, with variables of the service', () => {
    const [config, policy] = documents(join(KUBERNETES, 'examples/envoy-gateway.yaml'))
    const gateway = parse(String(config.data['envoy-gateway.yaml'])) as Manifest
    const { image, env } = gateway.provider.kubernetes.rateLimitDeployment.container
    expect(image).toContain('/sluice:')
    expect(unknownVariables(listOf(env).map(({ name }) => String(name)))).toEqual([])
    expect(policy.kind).toBe('BackendTrafficPolicy')
  })

  it('has an example for Istio that asks our Service about what our rules know', () => {
    const text = readFileSync(join(KUBERNETES, 'examples/istio.yaml'), 'utf8')
    expect(documents(join(KUBERNETES, 'examples/istio.yaml')).map(({ kind }) => kind)).toEqual([
      'EnvoyFilter',
      'EnvoyFilter',
    ])
    const [namespace] = documents(join(KUBERNETES, 'overlays/production/namespace.yaml'))
    const port = settingOf('grpc-port').default
    expect(text).toContain(`outbound|${port}||sluice.${namespace.metadata.name}.svc.cluster.local`)
    expect(text).toContain('descriptor_key: user')
  })

  it('names every file that it has', () => {
    const listed = readFileSync(join(KUBERNETES, 'base/kustomization.yaml'), 'utf8')
    for (const file of readdirSync(join(KUBERNETES, 'base'))) {
      if (file !== 'kustomization.yaml') expect(listed).toContain(`- ${file}\n`)
    }
    expect(existsSync(join(KUBERNETES, 'components/scale-on-decisions/adapter-rule.yaml'))).toBe(true)
  })
})

describe('the chart', () => {
  const schema = JSON.parse(readFileSync(join(ROOT, 'deploy/helm/sluice/values.schema.json'), 'utf8')) as {
    properties: Record<string, unknown>
  }
  const isRight = new Ajv2020({ strict: false }).compile(schema)

  it('has a schema that takes its values, knows each of them, and refuses others', () => {
    expect(isRight(chartValues()), JSON.stringify(isRight.errors)).toBe(true)
    expect(
      Object.keys(schema.properties)
        .filter((name) => name !== 'global')
        .sort(),
    ).toEqual(Object.keys(chartValues()).sort())
    expect(isRight({ ...chartValues(), wokers: 2 })).toBe(false)
    expect(isRight({ ...chartValues(), workers: 0 })).toBe(false)
  })

  it('has the version of the packages', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    const chart = parse(readFileSync(join(ROOT, 'deploy/helm/sluice/Chart.yaml'), 'utf8')) as Record<string, string>
    expect([chart.version, chart.appVersion]).toEqual([version, version])
    expect(containerOf(deploymentOf(render() as Manifest[])).image).toBe(`sluice:${version}`)
  })

  it('leaves out what is switched off, and a Secret where one is named', () => {
    const off = { networkPolicy: { ...(chartValues().networkPolicy as object), enabled: false } }
    const kinds = (render({ ...off, secret: { existing: 'mine', values: {} } }) as Manifest[]).map(({ kind }) => kind)
    for (const kind of ['NetworkPolicy', 'ServiceMonitor', 'PrometheusRule', 'Secret'])
      expect(kinds).not.toContain(kind)
  })

  it('lets values.env come before its own settings', () => {
    const manifests = render({ env: { SLUICE_WORKERS: '4', LOG_LEVEL: 'warn' } }) as Manifest[]
    expect(variablesOf(manifests)).toMatchObject({ SLUICE_WORKERS: '4', LOG_LEVEL: 'warn' })
  })

  it('takes another image and another tag', () => {
    const image = { repository: 'registry.example.com/sluice', tag: '9.9.9', pullPolicy: 'Always' }
    expect(containerOf(deploymentOf(render({ image }) as Manifest[])).image).toBe('registry.example.com/sluice:9.9.9')
  })
})
