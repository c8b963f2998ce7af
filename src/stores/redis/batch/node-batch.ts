import type { WaitingJob } from './waiting-job.ts'

type Jobs<Job, Answer> = readonly WaitingJob<Job, Answer>[]

/** Puts jobs of one partition together, in the order in which they came. */
export function byPartition<Job, Answer>(batch: Jobs<Job, Answer>): ReadonlyMap<string, Jobs<Job, Answer>> {
  const parts = new Map<string, WaitingJob<Job, Answer>[]>()
  for (const waiting of batch) {
    const part = parts.get(waiting.partition)
    if (part === undefined) parts.set(waiting.partition, [waiting])
    else part.push(waiting)
  }
  return parts
}

/** What a node says to jobs of several partitions. */
export interface NodeReply<Job, Answer> {
  readonly done: Jobs<Job, Answer>
  /** The jobs that it skipped, because their keys are elsewhere. */
  readonly left: Jobs<Job, Answer>
  /** The reply to the jobs that were done. */
  readonly rest: Buffer
}

/** Takes a reply apart, or returns undefined for what cannot be one. */
export function readNodeReply<Job, Answer>(
  reply: unknown,
  sections: readonly Jobs<Job, Answer>[],
): NodeReply<Job, Answer> | undefined {
  if (!Buffer.isBuffer(reply) || reply.length < sections.length) return undefined
  const done: WaitingJob<Job, Answer>[] = []
  const left: WaitingJob<Job, Answer>[] = []
  for (let i = 0; i < sections.length; i++) {
    if (reply[i] > 1) return undefined
    const part = reply[i] === 1 ? done : left
    for (const waiting of sections[i]) part.push(waiting)
  }
  return { done, left, rest: reply.subarray(sections.length) }
}
