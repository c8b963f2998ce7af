import type { LiveReport } from '../../observe/live/live-report.ts'
import { worstOf } from '../../observe/live/process-watch.ts'
import type { NodeState, WorkerState } from './node-note.ts'

type Figured = Pick<NodeState, 'circuit' | 'decisionsPerSecond' | 'memoryBytes' | 'eventLoopDelayMs' | 'workers'>

/** The figures of a node's processes, as they last reported them. */
export class NodeFigures {
  #last: readonly LiveReport[] = []

  /** heard takes the reports of a second, and returns them. */
  heard(reports: readonly LiveReport[]): readonly LiveReport[] {
    this.#last = reports
    return reports
  }

  state(workers: readonly Omit<WorkerState, 'decisionsPerSecond'>[]): Figured {
    const known = this.#last.flatMap(({ process: state }) => (state === undefined ? [] : [state]))
    const circuits = known.flatMap(({ circuit }) => (circuit === undefined ? [] : [circuit]))
    const own = known.some(({ pid }) => pid === process.pid) ? 0 : process.memoryUsage.rss()
    return {
      circuit: circuits.length === 0 ? undefined : worstOf(circuits),
      decisionsPerSecond: this.#last.reduce((sum, report) => sum + decisionsOf(report), 0),
      memoryBytes: known.reduce((sum, { memoryBytes }) => sum + memoryBytes, own),
      eventLoopDelayMs: known.length === 0 ? undefined : Math.max(...known.map((each) => each.eventLoopDelayMs)),
      workers: workers.map((worker) => ({ ...worker, decisionsPerSecond: this.#of(worker.pid) })),
    }
  }

  #of(pid: number | undefined): number | undefined {
    const report = this.#last.find(({ process: state }) => state !== undefined && state.pid === pid)
    return report && decisionsOf(report)
  }
}

function decisionsOf({ allowed, refused }: LiveReport): number {
  return allowed + refused
}
