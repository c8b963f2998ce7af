import type { LoopListener, LoopSampler } from './loop-sampler.ts'

/** An event loop that is as late as a test says. */
export class ManualLoop implements LoopSampler {
  readonly listeners = new Set<LoopListener>()

  listen(listener: LoopListener): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  /** Tells that the loop was so late for so long, sample by sample. */
  late(delayMs: number, ms: number, stepMs = 500): void {
    for (let at = 0; at < ms; at += stepMs) for (const listener of this.listeners) listener(delayMs, stepMs)
  }
}
