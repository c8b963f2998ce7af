import { got, SluiceError } from 'sluice/internal/core/errors'

type Env = NodeJS.ProcessEnv

export const TRACE_PROTOCOLS = ['http/protobuf', 'http/json'] as const
export type TraceProtocol = (typeof TRACE_PROTOCOLS)[number]

/** Whether and how spans are exported. The SDK reads everything else from OTEL_*. */
export interface TracesConfig {
  readonly protocol: TraceProtocol
  /** The variable that asks for it. */
  readonly askedBy: string
}

const EXPORTER = 'OTEL_TRACES_EXPORTER'
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'] as const

/**
 * Reads whether the environment asks for traces: by OTEL_TRACES_EXPORTER, or, where that says nothing, by an address to
 * send them to. OTEL_SDK_DISABLED=true and OTEL_TRACES_EXPORTER=none ask for none.
 */
export function tracesOf(env: Env): TracesConfig | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return undefined
  const askedBy = askedFor(env)
  if (askedBy === undefined) return undefined
  for (const name of ENDPOINTS) checkEndpoint(name, env[name]?.trim() ?? '')
  return { protocol: protocolOf(env), askedBy }
}

function askedFor(env: Env): string | undefined {
  const exporters = (env[EXPORTER] ?? '').split(',').map((name) => name.trim())
  const given = exporters.filter((name) => name !== '')
  if (given.length === 0) return ENDPOINTS.find((name) => (env[name]?.trim() ?? '') !== '')
  const unknown = given.find((name) => name !== 'otlp' && name !== 'none')
  if (unknown !== undefined) throw new SluiceError('TRACES_EXPORTER_UNKNOWN', EXPORTER, got(unknown))
  return given.includes('otlp') ? EXPORTER : undefined
}

function checkEndpoint(name: string, value: string): void {
  if (value === '') return
  const isGood = URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
  // The address may have credentials: it is not repeated.
  if (!isGood) throw new SluiceError('TRACES_ENDPOINT_INVALID', name, 'the value is not an http:// or https:// address')
}

function protocolOf(env: Env): TraceProtocol {
  const name = PROTOCOLS.find((each) => (env[each]?.trim() ?? '') !== '')
  const value = name === undefined ? 'http/protobuf' : (env[name] ?? '').trim()
  const protocol = TRACE_PROTOCOLS.find((each) => each === value)
  if (protocol === undefined) throw new SluiceError('TRACES_PROTOCOL_UNKNOWN', name ?? '', got(value))
  return protocol
}
