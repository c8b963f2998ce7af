import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './setup.mjs'

// node scripts/kubernetes.mjs Writes what manifests and chart have of deploy/prometheus and deploy/grafana: neither
// kustomize nor Helm reads files outside of its folder.
const dashboards = ['fleet', 'node', 'rule', 'stores']
const component = 'deploy/kubernetes/components/monitoring'
const chart = 'deploy/helm/sluice/files'

const read = (path) => readFileSync(join(root, path), 'utf8')
const indented = (text, spaces) => text.replace(/^(?=.)/gm, ' '.repeat(spaces))

/** Returns the rules and the alerts as one list of groups. */
function ruleGroups() {
  const groups = ['rules.yml', 'alerts.yml'].map((file) => {
    const [, list] = read(`deploy/prometheus/${file}`).split(/^groups:\n/m)
    return list.trimEnd()
  })
  return `groups:\n${groups.join('\n')}\n`
}

function prometheusRule() {
  const head = `apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: sluice
  labels: { app.kubernetes.io/name: sluice }
spec:
`
  return head + indented(ruleGroups(), 2)
}

function dashboardMap(name) {
  const head = `apiVersion: v1
kind: ConfigMap
metadata:
  name: sluice-dashboard-${name}
  labels: { app.kubernetes.io/name: sluice, grafana_dashboard: '1' }
data:
  sluice-${name}.json: |
`
  return head + indented(read(`deploy/grafana/${name}.json`), 4)
}

/** Returns all files that are written, by path. */
export function kubernetesFiles() {
  return new Map([
    [`${component}/prometheus-rules.yaml`, prometheusRule()],
    [`${component}/grafana-dashboards.yaml`, dashboards.map(dashboardMap).join('---\n')],
    [`${chart}/prometheus-rules.yaml`, ruleGroups()],
    ...dashboards.map((name) => [`${chart}/${name}.json`, read(`deploy/grafana/${name}.json`)]),
  ])
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [path, text] of kubernetesFiles()) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}
