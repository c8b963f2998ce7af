import type { RuleDirectory } from '../../src/sources/rule-directory.suite.ts'
import { connected, type Started, startWith } from '../cli/sluice-process.suite.ts'
import { sharedRedis } from '../servers/shared.ts'

/**
 * Runs the service with two workers on a shared Redis, and waits until both are connected. Redis has all the time that
 * it needs: no worker counts by itself because the machine is busy.
 */
export async function startWorkers(rules: RuleDirectory, ...args: string[]): Promise<Started> {
  const { url } = await sharedRedis()
  const env = {
    REDIS_URL: url,
    SLUICE_REDIS_TIMEOUT: '20s',
    SLUICE_SECRET: 'a secret of this test',
    LOG_LEVEL: 'debug',
  }
  const started = await startWith(env, '--workers', '2', '--health-needs-redis', '--rules', rules.path, ...args)
  await connected(started)
  return started
}

const READY = / debug worker \d+ \(process (\d+)\) is ready/g

/** Returns the processes that were ready, in the order in which they were. */
export function pidsIn(printed: string): number[] {
  return [...printed.matchAll(READY)].map(([, pid]) => Number(pid))
}

/** Says whether there is such a process. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
