import { readGatewayConfig } from '../app/settings/gateway-settings.ts'
import { run } from './serve.ts'

/** gateway runs a reverse proxy with the limiter in it, until it is told to stop. SIGHUP reads its routes again. */
export async function gateway(args: readonly string[]): Promise<void> {
  await run(readGatewayConfig(args, process.env))
}
