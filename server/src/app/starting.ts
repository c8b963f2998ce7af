/** What to do when the next step of a start fails, in the opposite order. */
export type Undo = (() => unknown)[]

/** Undoes what was started when a step fails. */
export async function starting<T>(start: (undo: Undo) => Promise<T>): Promise<T> {
  const undo: Undo = []
  try {
    return await start(undo)
  } catch (error) {
    for (const step of undo.reverse()) await step()
    throw error
  }
}
