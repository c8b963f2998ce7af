import { describe, expect, it } from 'vitest'
import { tracesOf } from './otel-settings.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }

describe('tracesOf', () => {
  it.each<[env: NodeJS.ProcessEnv]>([
    [{}],
    [{ OTEL_SERVICE_NAME: 'a', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'otlp' }],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ])('is none for %j', (env) => {
    expect(tracesOf(env)).toBeUndefined()
  })

  it.each<[env: NodeJS.ProcessEnv, protocol: string, askedBy: string]>([
    [ENDPOINT, 'http/protobuf', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'false' }, 'http/protobuf', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    [
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://a/v1/traces' },
      'http/protobuf',
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    ],
    [{ OTEL_TRACES_EXPORTER: ' otlp ' }, 'http/protobuf', 'OTEL_TRACES_EXPORTER'],
    [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, 'http/json', 'OTEL_TRACES_EXPORTER'],
    [
      {
        ...ENDPOINT,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      },
      'http/json',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ],
  ])('is asked for by %j', (env, protocol, askedBy) => {
    expect(tracesOf(env)).toEqual({ protocol, askedBy })
  })

  it.each<[env: NodeJS.ProcessEnv, message: string]>([
    [
      { OTEL_TRACES_EXPORTER: 'otlp,zipkin' },
      'TRACES_EXPORTER_UNKNOWN: OTEL_TRACES_EXPORTER: got "zipkin". Traces are sent over OTLP. Set OTEL_TRACES_EXPORTER to otlp or none.',
    ],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      'TRACES_PROTOCOL_UNKNOWN: OTEL_EXPORTER_OTLP_PROTOCOL: got "grpc". The protocol must be http/protobuf or http/json; collectors accept both on port 4318.',
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'user:password@collector:4318' },
      'TRACES_ENDPOINT_INVALID: OTEL_EXPORTER_OTLP_ENDPOINT: the value is not an http:// or https:// address. The address for traces must begin with http:// or https://.',
    ],
  ])('refuses %j, and repeats no address', (env, message) => {
    expect(() => tracesOf(env)).toThrow(expect.objectContaining({ message }))
  })
})
