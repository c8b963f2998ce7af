import type { Verdict } from 'sluice/internal/core/decision'
import type { Limit } from 'sluice/internal/core/limit'
import { holdsPermits } from 'sluice/internal/core/limit'
import { andThen } from 'sluice/internal/engine/maybe'
import {
  type Acquired,
  type Charge,
  type HeldPermits,
  type HeldPlaces,
  isRefused,
  type MaybePromise,
  type Renewal,
  type Store,
} from 'sluice/internal/engine/ports'
import { StoreFault } from 'sluice/internal/engine/store-fault'
import { inOrder, positionsBy, refundsOf, unbound, uncharged } from 'sluice/internal/stores/group-parts'
import { partitionOf } from './partitions.ts'
import type { PeerCluster } from './peer-cluster.ts'
import { type PeerAnswer, type PeerCharge, type PeerJob, runJob } from './peer-jobs.ts'

/** How long a decision waits for another node where its rule does not say. */
const TIMEOUT_MS = 100
/** Counters move at most this often while a decision waits for them. */
const MOST_WAITS = 3
/** A node that is asked for what it has handed over forwards once. */
const MOST_HOPS = 2
const NO_PERMITS: HeldPermits = Object.freeze({ id: '', held: Object.freeze([]), keptAt: -1 })

/** A store of the counters of a cluster: each partition is decided where its counters are, here or at a peer. */
export class PeersStore implements Store {
  readonly #cluster: PeerCluster
  readonly #timeoutMs: number
  #asked = 0
  #answered = 0

  constructor(cluster: PeerCluster, timeoutMs = TIMEOUT_MS) {
    this.#cluster = cluster
    this.#timeoutMs = timeoutMs
  }

  /** Jobs that other nodes did for this one, and that this one did for others. */
  get stats(): { readonly peerDecisionsAsked: number; readonly peerDecisionsAnswered: number } {
    return { peerDecisionsAsked: this.#asked, peerDecisionsAnswered: this.#answered }
  }

  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    const parts = positionsBy(charges, ({ key }) => partitionOf(key))
    if (parts.length === 1) return andThen(this.#ask('decide', charges), ({ verdicts }) => verdicts)
    return this.#inParts('decide', charges, parts).then(({ verdicts }) => verdicts)
  }

  acquire(charges: readonly Charge[]): MaybePromise<Acquired> {
    const parts = positionsBy(charges, ({ key }) => partitionOf(key))
    if (parts.length > 1) return this.#inParts('acquire', charges, parts)
    return andThen(this.#ask('acquire', charges), (answer) => permitsOf(charges, [charges], [answer]))
  }

  async release({ id, held }: HeldPermits): Promise<void> {
    const jobs = jobsOf('release', String(id), held)
    await Promise.all(jobs.map((job) => this.run(job, this.#timeoutMs)))
  }

  async renew(permits: readonly HeldPermits[]): Promise<readonly Renewal[]> {
    return Promise.all(permits.map((each) => this.#renewOne(each)))
  }

  async reset(key: string, limit: Limit): Promise<void> {
    const charges = [{ key, limit, cost: 0, enforce: true }]
    await this.run({ ...JOB, kind: 'reset', partition: partitionOf(key), charges }, this.#timeoutMs)
  }

  async close(): Promise<void> {
    this.#cluster.close()
  }

  /** Does a job for another node. Undefined: the counters are elsewhere, and it was forwarded already. */
  async serve(job: PeerJob): Promise<PeerAnswer | undefined> {
    this.#answered++
    try {
      return await this.run(job, this.#timeoutMs, job.isForwarded ? MOST_HOPS : 1)
    } catch {
      return undefined
    }
  }

  /** Does a job where the counters of its partition are. Throws, or rejects with, a StoreFault. */
  run(job: PeerJob, timeoutMs: number, hops = 0, waits = 0): MaybePromise<PeerAnswer> {
    const store = this.#cluster.held(job.partition)
    if (store !== undefined) return runJob(store, job)
    const pending = waits < MOST_WAITS ? this.#cluster.pending(job.partition) : undefined
    if (pending !== undefined) return within(pending, timeoutMs).then(() => this.run(job, timeoutMs, hops, waits + 1))
    const link = this.#cluster.linkOf(job.partition)
    if (link === undefined || hops === MOST_HOPS)
      throw new StoreFault('unavailable', 'peers', 'no reachable peer has these counters')
    this.#asked++
    return link.submit(hops === 0 ? job : { ...job, isForwarded: true }, timeoutMs)
  }

  #ask(kind: 'decide' | 'acquire', charges: readonly Charge[]): MaybePromise<PeerAnswer> {
    return this.run(
      { ...JOB, kind, partition: partitionOf(charges[0].key), charges },
      timeoutOf(charges, this.#timeoutMs),
    )
  }

  /**
   * Decides a group that spans several partitions, each part separately, and gives back what was charged when the whole
   * is refused. Rules in quota mode decide only together, so they bind no part.
   */
  async #inParts(
    kind: 'decide' | 'acquire',
    charges: readonly Charge[],
    parts: readonly (readonly number[])[],
  ): Promise<Acquired> {
    const groups = unbound(charges, parts)
    const asked = await Promise.allSettled(groups.map(async (group) => this.#ask(kind, group)))
    const answers = asked.map((each) => (each.status === 'fulfilled' ? each.value : undefined))
    const fault = asked.find((each) => each.status === 'rejected')
    const verdicts = answers.map((answer) => answer?.verdicts ?? [])
    if (fault === undefined && !isRefused(charges, inOrder(parts, verdicts))) {
      const { permits } = permitsOf(charges, groups, answers as PeerAnswer[])
      return { verdicts: inOrder(parts, verdicts), permits }
    }
    for (const [i, group] of groups.entries()) this.#giveBack(group, answers[i])
    if (fault !== undefined) throw fault.reason
    const given = verdicts.map((part, i) => uncharged(groups[i], part))
    return { verdicts: inOrder(parts, given), permits: undefined }
  }

  /** Refunds, in the background, a part that was charged although the whole is refused. */
  #giveBack(group: readonly Charge[], answer: PeerAnswer | undefined): void {
    if (answer === undefined || isRefused(group, answer.verdicts)) return
    const refunds = refundsOf(group, answer.verdicts)
    const ignore = (): void => {}
    if (refunds.length > 0) run(() => this.#ask('decide', refunds)).catch(ignore)
    const held = placesOf(group, answer.verdicts)
    if (answer.id === 0 || held.length === 0) return
    const id = `${partitionOf(held[0].key)}:${answer.id}`
    this.release({ id, held }).catch(ignore)
  }

  /** Renews the permits of one request. They are as good as the worst part of them. */
  async #renewOne({ id, held }: HeldPermits): Promise<Renewal> {
    const jobs = jobsOf('renew', String(id), held)
    const done = jobs.map(async (job) => (await this.run(job, this.#timeoutMs)).renewal)
    const ends = await Promise.all(done.map((each) => each.catch((): Renewal => 'missed')))
    const order: readonly Renewal[] = ['missed', 'lost', 'overrun', 'retaken', 'held']
    return order.find((renewal) => ends.includes(renewal)) ?? 'lost'
  }
}

const JOB = { kind: 'decide', id: 0, isForwarded: false } as const

/** Runs what may throw, as a promise. */
const run = async <T>(work: () => MaybePromise<T>): Promise<T> => work()

/** Returns the shortest of what the charges' rules allow. */
function timeoutOf(charges: readonly Charge[], otherwiseMs: number): number {
  return charges.reduce(
    (least, { policy }) => Math.min(least, policy?.timeoutMs ?? otherwiseMs),
    Number.POSITIVE_INFINITY,
  )
}

/** The permits of several partitions have one id: `17:3,200:8`. */
function permitsOf(
  charges: readonly Charge[],
  groups: readonly (readonly Charge[])[],
  answers: readonly PeerAnswer[],
): Acquired {
  const verdicts = answers.length === 1 ? answers[0].verdicts : []
  if (answers.length === 1 && isRefused(charges, verdicts)) return { verdicts, permits: undefined }
  const held = groups.flatMap((group, i) => placesOf(group, answers[i].verdicts))
  if (held.length === 0) return { verdicts, permits: NO_PERMITS }
  const ids = groups.flatMap(([{ key }], i) => (answers[i].id === 0 ? [] : [`${partitionOf(key)}:${answers[i].id}`]))
  return { verdicts, permits: { id: ids.join(), held, keptAt: -1 } }
}

function placesOf(group: readonly Charge[], verdicts: readonly Verdict[]): HeldPlaces[] {
  return group
    .filter(({ limit, cost }, i) => holdsPermits(limit) && cost > 0 && verdicts[i].allowed)
    .map(({ key, limit, cost }) => ({ key, limit, places: cost }))
}

/** Makes the jobs of held permits, one for each partition. */
function jobsOf(kind: 'release' | 'renew', ids: string, held: readonly HeldPlaces[]): PeerJob[] {
  const byPartition = new Map(
    ids.split(',').map((id) => {
      const [partition, number] = id.split(':').map(Number)
      return [partition, number]
    }),
  )
  return positionsBy(held, ({ key }) => partitionOf(key)).map((positions) => {
    const charges = positions.map((i): PeerCharge => {
      const { key, limit, places = 0 } = held[i]
      return { key, limit, cost: places, enforce: true }
    })
    const partition = partitionOf(charges[0].key)
    return { ...JOB, kind, partition, id: byPartition.get(partition) ?? 0, charges }
  })
}

/** Resolves with a promise, or rejects with a StoreFault when that takes too long. */
async function within(pending: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const fault = new StoreFault('timeout', 'peers', 'the counters are on their way between nodes')
    timer = setTimeout(() => reject(fault), timeoutMs)
  })
  try {
    await Promise.race([pending, late])
  } finally {
    clearTimeout(timer)
  }
}
