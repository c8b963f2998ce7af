/** The longest time that a timer supports: 2^31 − 1 ms, 24.8 days. With more, Node.js fires immediately. */
const LONGEST_MS = 2_147_483_647

/** Runs something once, after any length of time. It returns a function that calls it off. */
export function runAfter(ms: number, run: () => void): () => void {
  let leftMs = ms
  let timer: ReturnType<typeof setTimeout>
  const arm = (): void => {
    const stepMs = Math.min(leftMs, LONGEST_MS)
    leftMs -= stepMs
    timer = setTimeout(leftMs > 0 ? arm : run, stepMs)
  }
  arm()
  return () => clearTimeout(timer)
}
