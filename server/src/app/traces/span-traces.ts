import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import { DecisionSpans, remoteParent } from 'sluice/internal/observers/opentelemetry/decision-spans'
import type { DoorObserver, ObservedDoor } from '../../observe/door-observer.ts'
import type { Log } from '../log/log.ts'
import type { TraceProtocol, TracesConfig } from '../settings/otel-settings.ts'
import { packageFile } from '../settings/package-file.ts'
import type { Traces } from './traces.ts'
import { WatchedExporter } from './watched-exporter.ts'

/** How long a process that ends waits for the collector. */
const MAX_WAIT_MS = 1_000

/** Exports a span of each decision, as OTEL_* says. The queue is bounded, and nothing waits for it. */
export async function startTraces({ protocol }: TracesConfig, log: Log, isShadow: boolean): Promise<Traces> {
  diag.setLogger(warningsTo(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  const exporter = new WatchedExporter(await exporterOf(protocol), log)
  const provider = new BasicTracerProvider({ resource: resource(), spanProcessors: [new BatchSpanProcessor(exporter)] })
  const spans = new DecisionSpans(provider.getTracer('sluice', version()))
  return {
    observer: observerOf(spans, isShadow),
    close: async () => {
      const given = new AbortController()
      const deadline = pause(MAX_WAIT_MS, undefined, { signal: given.signal })
      await Promise.race([provider.shutdown(), deadline]).catch(() => {})
      given.abort()
      await deadline.catch(() => {})
    },
  }
}

function observerOf(spans: DecisionSpans, isShadow: boolean): DoorObserver {
  const attributesOf = (door: ObservedDoor) => ({
    'ratelimit.door': door,
    // In shadow mode the request passes, whatever the rules say.
    ...(isShadow && { 'ratelimit.outcome': 'allowed' }),
  })
  const skipsUnsampled = followsParent()
  const attributes = {
    rls: attributesOf('rls'),
    grpc: attributesOf('grpc'),
    http: attributesOf('http'),
    gateway: attributesOf('gateway'),
  }
  return {
    decided: (door, charges, decision, ms, context) => {
      if (skipsUnsampled && context?.isSampled === false) return
      spans.record({ charges, decision, ms, context }, remoteParent(context), attributes[door])
    },
  }
}

/**
 * Says whether the sampler of OTEL_TRACES_SAMPLER, which the SDK reads, records nothing below a span that is not
 * recorded.
 */
function followsParent(): boolean {
  const { OTEL_TRACES_SAMPLER: sampler = '' } = process.env
  return sampler === '' || sampler.startsWith('parentbased_')
}

async function exporterOf(protocol: TraceProtocol): Promise<SpanExporter> {
  if (protocol === 'http/json') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http')
    return new OTLPTraceExporter()
  }
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
  return new OTLPTraceExporter()
}

/** Describes the sender. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence. */
function resource() {
  const own = { 'service.name': 'sluice', 'service.version': version(), 'process.pid': process.pid }
  return defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }))
}

function version(): string {
  return (JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { version: string }).version
}

/** Logs the SDK's warnings about its settings, and about spans that did not fit into its queue. */
function warningsTo(log: Log) {
  const quiet = (): void => {}
  const warn = (message: string): void => log.warn('traces.warning', message.split('\n', 1)[0])
  // WatchedExporter logs errors of exports, in fewer words.
  const error = (message: string): void => {
    if (!message.startsWith('{')) warn(message)
  }
  return { error, warn, info: quiet, debug: quiet, verbose: quiet }
}
