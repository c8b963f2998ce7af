import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import { requireTracePackages } from './trace-packages.ts'
import type { Traces } from './traces.ts'

/** Loads the tracing code if traces are configured. Nothing else loads any of it. */
export async function openTraces(
  { traces, shadowMode }: Pick<Config, 'traces' | 'shadowMode'>,
  log: Log,
): Promise<Traces | undefined> {
  if (traces === undefined) return undefined
  requireTracePackages(traces)
  const { startTraces } = await import('./span-traces.ts')
  return startTraces(traces, log, shadowMode)
}
