const LOOK_MS = 100
const MAX_LOOKS = 20

/**
 * Waits for the end of the first attempt to connect, at most two seconds: an attempt itself ends after one, unless the
 * server accepts connections and then says nothing. The time is counted in looks, each a turn of the event loop: a
 * process that is too busy for its turns has not read what the server has answered either. While it waits, the process
 * stays alive: a job that asks once and exits would otherwise never reach Redis.
 */
export async function firstConnection(attempted: Promise<void>, look: () => Look = timedLook): Promise<void> {
  let hasEnded = false
  const ended = attempted.then(() => {
    hasEnded = true
  })
  for (let looks = 0; !hasEnded && looks < MAX_LOOKS; looks++) {
    const { passed, cancel } = look()
    await Promise.race([ended, passed])
    cancel()
  }
}

/** A stretch of time that can be given up. */
interface Look {
  readonly passed: Promise<void>
  cancel(): void
}

function timedLook(): Look {
  let timer: NodeJS.Timeout | undefined
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LOOK_MS)
  })
  return { passed, cancel: () => clearTimeout(timer) }
}
