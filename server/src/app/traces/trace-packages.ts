import { SluiceError } from 'sluice/internal/core/errors'
import { isInstalled, type Resolve } from '../../quotas/optional-package.ts'
import type { TraceProtocol, TracesConfig } from '../settings/otel-settings.ts'

/** The packages that traces need, in versions that run on every Node.js that Sluice supports. */
const ALWAYS = ['@opentelemetry/api@1.9', '@opentelemetry/sdk-trace-base@2', '@opentelemetry/resources@2']
const EXPORTERS: Readonly<Record<TraceProtocol, string>> = {
  'http/protobuf': '@opentelemetry/exporter-trace-otlp-proto@0.223',
  'http/json': '@opentelemetry/exporter-trace-otlp-http@0.223',
}

/** Throws where traces are configured and a package for them is not installed. Loads nothing. */
export function requireTracePackages({ protocol, askedBy }: TracesConfig, resolve?: Resolve): void {
  const needed = [...ALWAYS, EXPORTERS[protocol]]
  const missing = needed.map(nameOf).filter((name) => !isInstalled(name, resolve))
  if (missing.length === 0) return
  const detail = `${missing.join(', ')} cannot be found; install them: npm install ${needed.join(' ')}`
  throw new SluiceError('TRACES_PACKAGES_MISSING', askedBy, detail)
}

function nameOf(spec: string): string {
  return spec.slice(0, spec.lastIndexOf('@'))
}
