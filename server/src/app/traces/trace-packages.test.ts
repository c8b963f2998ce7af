import { describe, expect, it } from 'vitest'
import { requireTracePackages } from './trace-packages.ts'

describe('requireTracePackages', () => {
  it('finds what is installed', () => {
    requireTracePackages({ protocol: 'http/json', askedBy: 'OTEL_TRACES_EXPORTER' })
    requireTracePackages({ protocol: 'http/protobuf', askedBy: 'OTEL_TRACES_EXPORTER' })
  })

  it('says what is missing, and the command that installs it', () => {
    const missing = (name: string): void => {
      if (name !== '@opentelemetry/api') throw new Error(name)
    }
    expect(() => requireTracePackages({ protocol: 'http/protobuf', askedBy: 'OTEL_TRACES_EXPORTER' }, missing)).toThrow(
      expect.objectContaining({
        message:
          'TRACES_PACKAGES_MISSING: OTEL_TRACES_EXPORTER: @opentelemetry/sdk-trace-base, @opentelemetry/resources, @opentelemetry/exporter-trace-otlp-proto cannot be found; install them: npm install @opentelemetry/api@1.9 @opentelemetry/sdk-trace-base@2 @opentelemetry/resources@2 @opentelemetry/exporter-trace-otlp-proto@0.223. Traces need OpenTelemetry packages, which are not installed with sluice-server. Install them, or set OTEL_TRACES_EXPORTER=none.',
      }),
    )
  })
})
