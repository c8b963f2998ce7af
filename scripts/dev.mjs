import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensureInstalled, requireNode, root, runMain, SetupError, say } from './setup.mjs'

// npm run dev [-- arguments of the service]
// Rebuilds when a source changes and restarts the service when the build succeeds. It looks at the sources' times
// instead of asking the system for events: two hundred of them take 3 ms, and that works on every file system.
const lookEveryMs = 300

function startService(args) {
  return spawn(process.execPath, [join('scripts', 'dev-service.mjs'), ...args], {
    cwd: root,
    stdio: 'inherit',
  })
}

const isRunning = (child) => child !== undefined && child.exitCode === null && child.signalCode === null

async function stop(child) {
  if (!isRunning(child)) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** Builds, and shows an error instead of ending: the next change may fix it. */
async function tryToBuild(ensureBuilt) {
  try {
    await ensureBuilt()
    return true
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    say(error.message)
    return false
  }
}

async function watch(args, stopping) {
  const { ensureBuilt, sourceFingerprint } = await import('./build.mjs')
  let service
  let seen
  while (!stopping.aborted) {
    const fingerprint = sourceFingerprint()
    if (fingerprint !== seen && (await tryToBuild(ensureBuilt))) {
      if (seen !== undefined) say('the sources changed: restarting')
      await stop(service)
      service = startService(args)
    }
    seen = fingerprint
    await sleep(lookEveryMs, undefined, { signal: stopping }).catch(() => {})
  }
  await stop(service)
}

await runMain(async () => {
  requireNode()
  await ensureInstalled()
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stopping.abort())
  await watch(process.argv.slice(2), stopping.signal)
})
