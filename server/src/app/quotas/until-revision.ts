/** How long a change waits until this node has read those before it, and how often it looks. */
const WITHIN_MS = 1_000
const LOOK_MS = 10

/** Resolves with whether a revision is in force; it waits for that, for a second at most. `pause` waits for some milliseconds. */
export async function untilRevision(
  revision: number,
  inForce: () => number,
  pause: (ms: number) => Promise<void>,
): Promise<boolean> {
  for (let waitedMs = 0; inForce() < revision; waitedMs += LOOK_MS) {
    if (waitedMs >= WITHIN_MS) return false
    await pause(LOOK_MS)
  }
  return true
}
